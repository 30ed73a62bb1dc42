#include "skein/train/start.h"

#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "skein/checkpoint/parameters.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"
#include "skein/models/description.h"

namespace skein::train {
namespace {

// As if it had been stored with what a run that begins from weights may give anew.
RunState with_heads_of(RunState stored, const PretrainConfig& config) {
  const auto now = config_values(config);
  for (const std::string& key : config.model.architecture->options_of_heads())
    if (const auto found = stored.config.find(key); found != stored.config.end())
      found->second = now.at(key);
  return stored;
}

void check_frozen(const StoredStart& start, const PretrainConfig& config) {
  const auto found = start.state.config.find("train.frozen_layers");
  require(
      found == start.state.config.end() ||
          found->second == std::to_string(config.train.frozen_layers),
      "{} was trained with train.frozen_layers={}, now it is {}, and other tensors have moments "
      "then; give the same, or begin from its weights: another run.dir with checkpoint.load={}",
      start.path, found == start.state.config.end() ? "" : found->second,
      config.train.frozen_layers, start.path);
}

}  // namespace

StoredStart stored_start(const checkpoint::CheckpointInfo& from, bool own,
                         const PretrainConfig& config, const Task& task) {
  StoredStart made{.state = run_state(from.metadata, from.path), .path = from.path, .own = own};
  // An import has summed nothing yet.
  const bool nothing_summed = !made.state.imported.empty() && made.state.optimizer_steps == 0;
  made.adapts = task.adapts() && !own;
  made.weights_only = (config.checkpoint.weights_only || nothing_summed) && !own;
  made.keeps_groups = !nothing_summed && !made.adapts;
  return made;
}

std::string compare_with_start(const StoredStart& start, const PretrainConfig& config,
                               const Task& task) {
  if (!start.weights_only) {
    task.check_notes(start.state.notes, start.path);
    check_frozen(start, config);
  }
  return compare_with_stored(start.weights_only ? with_heads_of(start.state, config) : start.state,
                             config, task.tokenizer(), start.path);
}

namespace {

std::set<std::string> lines_of(const std::vector<std::string>& texts) {
  std::set<std::string> lines;
  for (const std::string& text : texts) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.insert(line);
  }
  return lines;
}

// The tensors that fit the checkpoint only once the task has made them anew by what it holds.
class Refitted {
 public:
  Refitted(const TensorShapes& held, const Task& task) : held_(held), task_(task) {}

  // Whether the tensor is one of these; then it is loaded to the side.
  bool takes(const Parameter& p) {
    const auto found = held_.find(checkpoint::weight_name(p.tensor()));
    if (found == held_.end() || found->second == p.shape.dims()) return false;
    if (tensors_.contains(found->first)) return true;
    const Tensor stored = Tensor::zeros(Shape(found->second), DType::f32);
    if (!task_.refitted(p.part, stored).defined()) return false;
    tensors_[found->first] = {p.part, stored};
    return true;
  }
  // What is to be loaded.
  std::vector<checkpoint::Piece> sources() const {
    std::vector<checkpoint::Piece> made;
    for (const auto& [name, one] : tensors_) {
      const std::vector<int64_t>& shape = held_.at(name);
      made.push_back({name, DType::f32, shape, std::vector<int64_t>(shape.size(), 0), shape, 0,
                      one.stored.size(), one.stored.bytes_data()});
    }
    return made;
  }
  // Once that is loaded; targets: of these tensors, none of which is split.
  void fill(const std::vector<checkpoint::Piece>& targets) const {
    for (const checkpoint::Piece& piece : targets) {
      const auto& [part, stored] = tensors_.at(piece.name);
      const Tensor made = task_.refitted(part, stored);
      SKEIN_CHECK_EQ(made.size(), Shape(piece.shape).size());
      const Tensor own = made.flat(piece.begin, piece.end - piece.begin).to(piece.dtype);
      std::memcpy(piece.data, own.bytes_data(), static_cast<size_t>(own.bytes()));
      if (piece.tensor.defined()) piece.tensor.copy_from(piece.copy);
    }
  }

 private:
  struct OfPart {
    Part part;
    Tensor stored;
  };
  const TensorShapes& held_;
  const Task& task_;
  std::map<std::string, OfPart> tensors_;
};

}  // namespace

void adapt(Replica& replica, const checkpoint::CheckpointInfo& from, const Task& task,
           const TaskNotes& notes, Group& world) {
  const TensorShapes held = checkpoint_tensors(from, world);
  std::string anew;
  Refitted refitted(held, task);
  std::set<std::string> aside;
  auto targets = replica.optimizer().weights(false, [&](const Parameter& p) {
    const auto found = held.find(checkpoint::weight_name(p.tensor()));
    // What is never learnt is what the model says, whatever size the checkpoint's inputs had.
    const bool begins = task.begins_anew(p.part, found != held.end(), notes) ||
                        (p.constant && found != held.end() && found->second != p.shape.dims());
    if (begins) anew += p.tensor() + "\n";
    if (!begins && refitted.takes(p)) aside.insert(p.name);
    return !begins && !aside.contains(p.name);
  });
  std::ranges::move(refitted.sources(), std::back_inserter(targets));
  load_checkpoint(from, targets, false, world);
  refitted.fill(replica.optimizer().weights(
      false, [&](const Parameter& p) { return aside.contains(p.name); }));
  replica.optimizer().loaded(0);
  log::info("begins with the weights of {} (step {})", from.path, from.step);
  const std::set<std::string> names = lines_of(world.all_gather(anew));
  if (!names.empty()) log::info("tensors that begin anew: {}", fmt::join(names, ", "));
}

}  // namespace skein::train
