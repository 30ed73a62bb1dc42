// A run's directory: names of checkpoints, generations of the run, and what may be removed.
//
//   step-00000100.g000003/    committed: nothing gets such a name before it is whole and durable
//   generation-000003         start number 3 of the run (generation.h)
//   heartbeat-000003.2f...    renewed while that start runs
//   tmp-...  trash-...        half made, half removed: never read, cleared at the next start
//
// Fencing: a start takes the next generation by creating its file exclusively. A process of an
// older generation that is still alive (a node cut off from the network) finds the newer file and
// commits no more. Should its commit slip in all the same, it is later than what the newer
// generation's file names, and every reader ignores it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skein/checkpoint/generation.h"

namespace skein::checkpoint {

struct CheckpointName {
  // in order of age: a later generation is newer whatever its step
  int64_t generation = 0, step = 0;

  auto operator<=>(const CheckpointName&) const = default;
  // "step-00000100.g000003"
  std::string text() const;
  // The inverse of text(); nothing for any other name.
  static std::optional<CheckpointName> parse(const std::string& text);
};

// `path`, or the folder `checkpoints` in it when there is one: a run's folder stands for its
// checkpoints.
std::string checkpoint_folder(const std::string& path);

// Committed checkpoints, newest first, without those that a fenced generation left behind. Empty
// when the directory does not exist; Error(usage) when it is no directory. What cannot be looked at
// or read, be it the directory, a name in it or a generation's file, is tried again and then a
// SystemError: it never counts as missing.
std::vector<CheckpointName> committed_checkpoints(const std::string& directory);
// The same with those that a fenced generation left behind.
std::vector<CheckpointName> all_checkpoints(const std::string& directory);

// The highest generation that ever started here; 0 for none.
int64_t latest_generation(const std::string& directory);
// The one after it.
int64_t next_generation(const std::string& directory);

// The id of the run whose generations these are; "" when they name none.
std::string run_id_in(const std::string& directory);

// "generation-000003"
std::string generation_name(int64_t number);
// Numbers of the generation files, the lowest first.
std::vector<int64_t> generation_numbers(const std::string& directory);
// What one says. Nothing when it has gone, and, with a warning, when it cannot be understood.
// SystemError, after retries, where it cannot be read: it may tell which commits to ignore.
std::optional<Generation> read_generation(const std::string& directory, int64_t number);
// For messages: with its host and process where its file can be read (generation.h).
std::string named_generation(const std::string& directory, int64_t number);
// Makes the file durably, whole or not at all. False when another start has taken the number.
bool write_generation(const std::string& directory, const Generation& generation);

// Makes the directory if it is missing and takes the next generation of `run` in it, whoever is at
// work there. Error(usage) where something else than a directory is in the way, Error(failure) with
// what to do where the system refuses. Leftovers of older generations are removed.
int64_t start_generation(const std::string& directory, int ranks, const std::string& run = "");

// Removes what generations before this one have left: half made checkpoints, heartbeats, and
// generation files that tell no reader which commits to ignore.
void clear_older(const std::string& directory, int64_t generation);

// Error(superseded), which says where it runs, once a generation newer than this one has started.
void refuse_superseded(const std::string& directory, int64_t generation);

// A fresh directory to write a checkpoint in, whatever earlier attempts left behind; its path.
std::string make_temporary(const std::string& directory, const CheckpointName& name);

// Gives the finished temporary its final name, durably. Nothing is visible after an error:
// Error(superseded) when a newer generation has started, Error(failure) when the system fails.
void publish(const std::string& temporary, const std::string& directory,
             const CheckpointName& name);

// Committed checkpoints beyond the newest `keep`.
std::vector<CheckpointName> expired_checkpoints(const std::string& directory, int64_t keep);

// Takes a checkpoint's name away first, then its bytes, so that no half-removed one is ever seen.
void remove_checkpoint(const std::string& directory, const CheckpointName& name);

// The current time, UTC: "2024-05-06T07:08:09Z".
std::string utc_now();

}  // namespace skein::checkpoint
