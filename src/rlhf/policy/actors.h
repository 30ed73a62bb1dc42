// Policy, critic and reference on one mesh: what they say of answers, and one step of learning.
#pragma once

#include <memory>
#include <vector>

#include "skein/rlhf/policy/ppo.h"
#include "skein/train/judge.h"
#include "skein/train/replica.h"

#include "critic_start.h"
#include "frozen.h"
#include "ptx.h"

namespace skein::rlhf::policy {

class Actors {
 public:
  // Collective. Policy and critic have their start values until load() or begin().
  Actors(const TuneConfig& config, const BatchPlan& plan, Mesh& mesh, const Tuning& tuning);

  // Collective. The weights of the policy's start and the critic's.
  void begin(const CriticStart& critic);
  // What a checkpoint holds; own: each element on one rank, to save.
  std::vector<checkpoint::Piece> pieces(bool own) const;
  std::vector<train::Replicated> replicated() const;
  // Of the running mean of the policy, as a model of its own; with ppo.ema only.
  std::vector<checkpoint::Piece> mean_pieces() const { return policy_->optimizer().mean_pieces(); }
  void loaded(int64_t policy_steps, int64_t critic_steps);

  // From now on judge and value may be interrupted at that meeting, which outlives its use; null:
  // no more.
  void set_meeting(Meeting* meeting) { meeting_ = meeting; }
  // Collective. Gives answers their log-probabilities under policy and reference, entropies, and
  // the values of a shared critic.
  void judge(std::vector<Episode>& episodes) const;
  // Collective. Gives them the values of a critic of its own, where there is one.
  void value(std::vector<Episode>& episodes) const;

  struct Step {
    train::StepResult policy, critic;  // that of the policy without terms where it did not learn
  };
  struct Update {
    int64_t number = 0;
    double lr = 0, critic_lr = 0;
    double loss_scale = 1;  // of both
    bool policy_learns = true;
  };
  // The minibatch of samples [first, first + train.global_batch), with the texts of the update
  // beside it where there are any.
  Step learn(const EpisodeSamples& samples, int64_t first, const Update& update);

  train::Replica& policy() { return *policy_; }
  train::Replica* critic() { return critic_.get(); }
  const std::vector<train::Term>& policy_terms() const { return policy_terms_; }
  // All that are learnt from: of the prompts, and of the texts beside them.
  std::vector<data::DataFile> data_files() const;

 private:
  Tensor answers(train::EvaluatedModel model, const EpisodeSamples& samples, int64_t numbers) const;
  train::EvaluatedModel evaluated_model(train::Replica& replica) const;
  train::Learning policy_learning() const;

  const TuneConfig& config_;
  const Tuning& tuning_;
  Mesh& mesh_;
  PolicyRules rules_;
  std::vector<train::Term> policy_terms_;
  std::unique_ptr<train::LoadedModel> reference_;
  std::unique_ptr<PtxTexts> texts_;
  std::unique_ptr<train::Replica> policy_, critic_;
  Meeting* meeting_ = nullptr;
};

}  // namespace skein::rlhf::policy
