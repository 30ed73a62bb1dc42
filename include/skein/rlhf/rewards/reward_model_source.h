// A reward model among the sources of rewards.
#pragma once

#include <memory>
#include <string>

#include "skein/rlhf/rewards/reward_model.h"
#include "skein/rlhf/rewards/rewards.h"

namespace skein::rlhf::rewards {

// How a policy's answers are made of tokens.
struct PolicyText {
  text::StoredTokenizer tokenizer;
  text::StoredTemplate chat_template;
  int64_t max_tokens = 0, context = 0;  // of an answer, and of it with its prompt; 0: not known
};

// The scores of a reward model, whose answers have the mean 0 and deviation 1 of its reference
// answers. Where it is a decoder with the policy's tokenizer and chat template (same_tokenizer,
// same_template) it is fed the tokens as they were sampled, but for answers that were cut; else the
// texts of all turns and the answer. The log says which, and why.
class RewardModelSource : public RewardSource {
 public:
  // Collective over mesh, which outlives it; the rest and errors as RewardModel. parallel: of the
  // policy, whose pieces count only for a reward model of as many blocks.
  RewardModelSource(const std::string& path, const PolicyText& policy,
                    const ParallelConfig& parallel, DType dtype, int64_t batch, Mesh& mesh);

  std::string name() const override { return "model:" + model_.origin(); }
  // A usage error naming the prompt of an answer that leaves no room for any of its prompt, be it
  // fed as tokens or as text.
  std::vector<double> scores(std::span<const Answer> answers) override;
  void set_meeting(Meeting* meeting) override { model_.set_meeting(meeting); }
  // A usage error for turns that the reward model's chat template has no form for, where it is fed
  // texts; else for a prompt to which an answer may be longer than can be judged.
  void check_prompt(const Prompt& prompt) const override;

 private:
  data::FormedSample formed(const Answer& answer) const;
  // Nothing where the answer leaves no room for any of its prompt.
  std::vector<data::FormedSample> sampled(const Answer& answer) const;
  void check_room(const Prompt& prompt) const;

  RewardModel model_;
  int64_t max_tokens_, context_;  // of the policy
  bool tokens_ = false;
};

}  // namespace skein::rlhf::rewards
