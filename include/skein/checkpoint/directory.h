// A run's directory: names of checkpoints, generations of the run, and what may be removed.
//
//   step-00000100.g000003/    committed: nothing gets such a name before it is whole and durable
//   generation-000003         start number 3 of the run, and the newest checkpoint there was at that moment
//   tmp-...  trash-...        half made, half removed: never read, cleared at the next start
//
// Fencing: a start takes the next generation by creating its file exclusively. A process of an older
// generation that is still alive (a node cut off from the network) finds the newer file and commits no more.
// Should its commit slip in all the same, it is later than what the newer generation's file names, and
// every reader ignores it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skein {

struct CheckpointName {
  int64_t generation = 0, step = 0;  // in order of age: a later generation is newer whatever its step

  auto operator<=>(const CheckpointName&) const = default;
  // "step-00000100.g000003"
  std::string text() const;
  // The inverse of text(); nothing for any other name.
  static std::optional<CheckpointName> parse(const std::string& text);
};

// `path`, or the folder `checkpoints` in it when there is one: a run's folder stands for its checkpoints.
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

// Makes the directory if it is missing and takes the next generation in it. Error(usage) where
// something else than a directory is in the way, Error(failure) with what to do where the system
// refuses. Leftovers of older generations are removed.
int64_t start_generation(const std::string& directory, int ranks);

// A fresh directory to write a checkpoint in, whatever earlier attempts left behind; its path.
std::string make_temporary(const std::string& directory, const CheckpointName& name);

// Gives the finished temporary its final name, durably. Error(failure), and nothing visible, when a newer
// generation has started or the system fails.
void publish(const std::string& temporary, const std::string& directory, const CheckpointName& name);

// Committed checkpoints beyond the newest `keep`.
std::vector<CheckpointName> expired_checkpoints(const std::string& directory, int keep);

// Takes a checkpoint's name away first, then its bytes, so that no half-removed one is ever seen.
void remove_checkpoint(const std::string& directory, const CheckpointName& name);

// The current time, UTC: "2024-05-06T07:08:09Z".
std::string utc_now();

}  // namespace skein
