#include "skein/rlhf/rewards/reward_model.h"

#include "skein/checkpoint/parameters.h"
#include "skein/core/error.h"
#include "skein/train/run_weights.h"
#include "skein/train/trained_model.h"

namespace skein::rlhf::rewards {
namespace {

std::unique_ptr<Objective> preferences(const LocalModel& model, const RewardHead& head) {
  return std::make_unique<PreferenceObjective>(*model.scorer(), head.loss);
}

}  // namespace

train::TrainedModel open_reward_model(const std::string& path, Group& world) {
  require(!path.empty(), "no reward model is named; give the folder of a run of `skein reward`");
  const auto info = train::find_weights(path, world);
  require(info.has_value(), "the reward model: {}", checkpoint::no_checkpoint(path));
  train::TrainedModel model = train::trained_model(*info, world);
  require(reward_head(model.state.notes, info->path) != nullptr,
          "{} is no reward model; `skein reward` makes one of it", info->path);
  require_tokenizer(model);
  return model;
}

RewardModel::RewardModel(const std::string& path, const ParallelConfig& parallel, DType dtype,
                         int64_t batch, Mesh& mesh)
    : RewardModel(open_reward_model(path, mesh.world()), parallel, dtype, batch, mesh) {}

RewardModel::RewardModel(const train::TrainedModel& trained, const ParallelConfig& parallel,
                         DType dtype, int64_t batch, Mesh& mesh)
    : origin_(trained.info.path),
      head_(*reward_head(trained.state.notes, origin_)),
      tokenizer_(trained.state.tokenizer),
      form_(std::make_unique<RewardForm>(*tokenizer_, trained.model, head_)),
      model_(trained.model, parallel, dtype, mesh,
             [this](const LocalModel& model) { return preferences(model, head_); }),
      batch_(batch),
      multiple_(row_multiple(parallel)) {
  require(batch > 0, "{} answers a forward pass were asked for; give at least 1", batch);
  load_weights(trained.info, model_.parameters(), mesh.world());
}

PreferenceScores RewardModel::judged(const data::PreferenceSamples& samples) {
  return preference_scores(model_.evaluated(batch_, meeting_), samples);
}

std::vector<double> RewardModel::scores(std::vector<data::FormedSample> sequences) {
  if (sequences.empty()) return {};
  std::vector<data::PreferenceSample> samples;
  for (data::FormedSample& sequence : sequences)
    samples.push_back({data::PreferenceKind::none, {std::move(sequence)}, {0}, {0}});
  const auto answers = source(std::move(samples));
  const Tensor raw = train::all_answers(model_.evaluated(batch_, meeting_), *answers,
                                        answers->samples_per_epoch(), 1, 1);
  std::vector<double> made;
  for (float score : raw.span<float>()) made.push_back((score - head_.mean) / head_.deviation);
  return made;
}

}  // namespace skein::rlhf::rewards
