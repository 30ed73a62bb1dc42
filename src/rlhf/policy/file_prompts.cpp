#include "skein/rlhf/policy/file_prompts.h"

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/data/samples/order.h"

namespace skein::rlhf::policy {

FilePrompts::FilePrompts(const data::ConversationsConfig& files, const std::string& option,
                         const text::ChatTemplate& form, int64_t room, uint64_t seed)
    : seed_(seed) {
  int64_t longer = 0, number = 0;
  read_prompts(files, true, [&](const data::PromptRecord& record) {
    std::vector<int32_t> tokens = form.prompt(record.messages);
    if (std::ssize(tokens) > room)
      ++longer;
    else
      prompts_.push_back({std::move(tokens), record.messages, record.record, number});
    ++number;
  });
  require(!prompts_.empty(),
          "all {} prompts of {} are longer than the {} tokens that generate.max_tokens leaves of "
          "the model's context; allow fewer",
          longer, option, room);
  if (longer > 0)
    log::warn(
        "{} of {} prompts of {} are longer than the {} tokens that generate.max_tokens leaves of "
        "the model's context, and left out",
        longer, longer + std::ssize(prompts_), option, room);
}

rewards::Prompt FilePrompts::at(int64_t index) const {
  const int64_t size = prompts_.size();
  return prompts_[data::permuted(seed_, index / size, size, index % size)];
}

void FilePrompts::check(const rewards::RewardSource& rewards) const {
  for (const rewards::Prompt& prompt : prompts_) rewards.check_prompt(prompt);
}

}  // namespace skein::rlhf::policy
