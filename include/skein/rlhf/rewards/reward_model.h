// A trained reward model that scores answers.
//
//   RewardModel model("runs/reward", parallel, DType::f32, 8, mesh);
//   const std::vector<double> scores = model.scores(model.form().sequences(prompt, answers));
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skein/rlhf/rewards/preference_objective.h"
#include "skein/rlhf/rewards/reward_form.h"
#include "skein/train/trained_model.h"

namespace skein::rlhf::rewards {

// Collective. What the checkpoint of a reward model says. path: a run's folder (its best weights
// where it has kept them, else its newest good checkpoint) or a checkpoint. A usage error for one
// that is of no reward model.
train::TrainedModel open_reward_model(const std::string& path, Group& world);

class RewardModel {
 public:
  // Collective over mesh, which outlives the model. path: as above; batch: answers a forward pass.
  RewardModel(const std::string& path, const ParallelConfig& parallel, DType dtype, int64_t batch,
              Mesh& mesh);
  // As open_reward_model gave it.
  RewardModel(const train::TrainedModel& trained, const ParallelConfig& parallel, DType dtype,
              int64_t batch, Mesh& mesh);

  const std::string& origin() const { return origin_; }
  const RewardHead& head() const { return head_; }
  const RewardForm& form() const { return *form_; }
  const text::StoredTokenizer& tokenizer() const { return tokenizer_; }

  // From now on what follows may be interrupted at that meeting, which outlives its use; null: no
  // more.
  void set_meeting(Meeting* meeting) { meeting_ = meeting; }
  // Collective; the same on every rank, and the same bits at every data- and pipeline-parallel
  // layout. The score of each sequence in units of the reference answers' deviation from their
  // mean. All ranks give the same sequences.
  std::vector<double> scores(std::vector<data::FormedSample> sequences);
  // The raw scores of preference data, and its loss.
  PreferenceScores judged(const data::PreferenceSamples& samples);
  // Samples for the above.
  std::unique_ptr<data::PreferenceSamples> source(
      std::vector<data::PreferenceSample> samples) const {
    return form_->source(std::move(samples), multiple_, 0, false);
  }

 private:
  std::string origin_;
  RewardHead head_;
  text::StoredTokenizer tokenizer_;
  std::unique_ptr<RewardForm> form_;
  train::LoadedModel model_;
  int64_t batch_, multiple_;
  Meeting* meeting_ = nullptr;
};

}  // namespace skein::rlhf::rewards
