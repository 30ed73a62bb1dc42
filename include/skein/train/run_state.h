// What a checkpoint says about a run beside its tensors: docs/checkpoint-format.md, "metadata".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "skein/comm/mesh.h"
#include "skein/data/data_file.h"
#include "skein/train/config.h"

namespace skein {

struct RunState {
  int64_t step = 0;              // steps done, skipped ones included
  int64_t samples = 0;           // the data cursor: samples of the run's stream consumed
  int64_t optimizer_steps = 0;   // updates made
  int64_t skipped_in_a_row = 0;  // latest steps without a finite gradient
  int64_t reduction_groups = 0;  // of the canonical sum: the bits of a run depend on it
  double loss_scale = 1;         // of the next step, and the good steps before it
  int64_t good_steps = 0;
  double best_quality = 0;       // of the validations so far, at best_step (-1: none yet); and how many there were since
  int64_t best_step = -1, fruitless = 0;
  std::string notes;             // of the task, JSON; "" for none
  std::string imported;          // what skein-convert keeps of the model's origin for the way back, JSON; "" for none
  std::string tokenizer;         // JSON of the training data's tokenizer
  std::map<std::string, std::string> config;  // by key, as Options::values gives them
  std::vector<DataFile> data{};  // learnt from and judged by; token stores among them agreed with their sums
};

// JSON, with the versions and the layout that wrote it.
std::string to_json(const RunState& state, const MeshShape& layout);
// A usage error naming `origin` when it is no such JSON.
RunState run_state(const std::string& json, const std::string& origin);

// Why no text can be encoded for a checkpoint that names no tokenizer, and what to do: for
// messages. origin: the checkpoint's path.
std::string no_tokenizer(const RunState& state, const std::string& origin);

// What a run that failed can go on from: for messages, before "with ...". saved_step: of its newest
// checkpoint; below 0: it has none.
std::string restart_advice(int64_t saved_step);

std::map<std::string, std::string> config_values(const PretrainConfig& config);
// The model that a checkpoint holds.
ModelConfig stored_model(const RunState& state, const std::string& origin);
// How it was asked for masked tokens, if it was.
MaskConfig stored_masks(const RunState& state, const std::string& origin);
// A usage error listing every option of the model (and the tokenizer) that differs, with both values: such a run is
// another run. Returns what else differs, as "key: old -> new" lines for the log.
std::string compare_with_stored(const RunState& stored, const PretrainConfig& config, const std::string& tokenizer,
                                const std::string& origin);

}  // namespace skein
