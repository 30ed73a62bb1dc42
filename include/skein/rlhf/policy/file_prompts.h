// Prompts that are read from files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/data/records/conversations.h"
#include "skein/rlhf/policy/episodes.h"
#include "skein/rlhf/rewards/rewards.h"
#include "skein/text/template.h"

namespace skein::rlhf::policy {

class FilePrompts : public Prompts {
 public:
  // Those of all conversations, whose last answers are left out, of at most `room` tokens by the
  // template; how many are longer is told. option: that named the files, for messages. seed: of the
  // order in which a run meets them, each epoch in another. Usage errors as read_prompts, and where
  // none is short enough.
  FilePrompts(const data::ConversationsConfig& files, const std::string& option,
              const text::ChatTemplate& form, int64_t room, uint64_t seed);

  rewards::Prompt at(int64_t index) const override;
  // In the order of the files.
  const std::vector<rewards::Prompt>& all() const { return prompts_; }
  // A usage error unless answers to all of them can be scored.
  void check(const rewards::RewardSource& rewards) const;

 private:
  uint64_t seed_;
  std::vector<rewards::Prompt> prompts_;
};

}  // namespace skein::rlhf::policy
