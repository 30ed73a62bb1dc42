// What a checkpoint says about a run beside its tensors: docs/checkpoint-format.md, "metadata".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "skein/comm/mesh.h"
#include "skein/data/stores/data_file.h"
#include "skein/models/description.h"
#include "skein/text/tokenizer.h"
#include "skein/train/config.h"
#include "skein/train/optim/loss_scale.h"
#include "skein/train/task_notes.h"

namespace skein::train {

struct RunState {
  int64_t step = 0;             // steps done, skipped ones included
  int64_t samples = 0;          // the data cursor: samples of the run's stream consumed
  int64_t optimizer_steps = 0;  // updates made
  // Latest steps without a finite gradient, but for those that halved the loss scale of f16. 0 in
  // checkpoints, as nothing is committed after such a step; those of earlier versions may have
  // more.
  int64_t skipped_in_a_row = 0;
  int64_t reduction_groups = 0;  // of the canonical sum: the bits of a run depend on it
  double loss_scale = 1;         // of the next step, and the good steps before it
  int64_t good_steps = 0;
  // of the validations so far, at best_step (-1: none yet); and how many there were since
  double best_quality = 0;
  int64_t best_step = -1, fruitless = 0;
  // the evaluation that was due at `step` was interrupted: it is made before the next step
  bool validation_owed = false;
  SpikeRecord spikes{};
  TaskNotes notes{};  // of the task
  // what skein-convert keeps of the model's origin for the way back, JSON; "" for none
  std::string imported;
  text::StoredTokenizer tokenizer{};          // the training data's
  std::map<std::string, std::string> config;  // by key, as Options::values gives them
  // learnt from and judged by; token stores among them agreed with their sums
  std::vector<data::DataFile> data{};
};

// Whether the model is an import that was not trained here.
bool untrained_import(const RunState& state);

// JSON, with the versions and the layout that wrote it.
std::string to_json(const RunState& state, const MeshShape& layout);
// A usage error naming `origin` when it is no such JSON.
RunState run_state(const std::string& json, const std::string& origin);

// The sum's grouping stays what it was in the checkpoint `origin`, so that a run has the same bits
// however its layout changes on the way: it goes into config, unless that names one. A warning
// where it does not fit.
void take_over_groups(int64_t groups, const std::string& origin, int64_t data_ranks,
                      PretrainConfig& config);

// The scale as the checkpoint holds it, if its run sought one as well; else it begins anew.
void restore(LossScale& scale, const RunState& stored);

// How the run's ranks share the batch, with the groups of `stored`, if any, that `origin` holds; a
// micro-batch that nobody gave is settled in config, and so are the groups.
BatchPlan settled_plan(PretrainConfig& config, const MeshShape& shape, const RunState* stored,
                       const std::string& origin);

// The chat template in Jinja that an import brought, which is kept for other programs; "" where it
// brought none.
std::string imported_template(const RunState& state);

// Why no text can be encoded for a checkpoint that names no tokenizer, and what to do: for
// messages. origin: the checkpoint's path.
std::string no_tokenizer(const RunState& state, const std::string& origin);

// Collective. What a run that failed for want of finite gradients can go on from, as the beginning
// of a message that goes on with "with ...". checkpoints: its folder of them. saved_step: of the
// newest one; below 0: it has none. good_step: of the newest one after which this start has made a
// step with a finite gradient; below 0: there is none. Only a good one's weights are known to be of
// use, so all newer ones are to be removed first; CheckpointStore::save is told of it as well.
std::string restart_advice(const std::string& checkpoints, int64_t saved_step, int64_t good_step,
                           Group& world);

std::map<std::string, std::string> config_values(const PretrainConfig& config);
// The model that a checkpoint holds. A usage error naming `origin` for sizes that cannot be.
ModelConfig stored_model(const RunState& state, const std::string& origin);
// A usage error naming `origin` unless the tensors that a checkpoint holds, by their names in it,
// have all of the model's in their shapes. Before anything of the model's size is made.
void check_held(const ModelConfig& model, const TensorShapes& held, const std::string& origin);
// A usage error listing every option of the model (and the tokenizer) that differs, with both
// values: such a run is another run. Returns what else differs, as "key: old -> new" lines for the
// log.
std::string compare_with_stored(const RunState& stored, const PretrainConfig& config,
                                const text::StoredTokenizer& tokenizer, const std::string& origin);
// Says so in the log, where there are any.
void tell_changes(const std::string& changes);

}  // namespace skein::train
