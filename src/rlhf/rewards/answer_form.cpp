#include "skein/rlhf/rewards/answer_form.h"

#include <algorithm>

namespace skein::rlhf::rewards {

std::vector<AnswerSequence> answer_sequences(const text::ChatTemplate& form,
                                             std::span<const text::Message> prompt,
                                             std::span<const std::string> answers, int64_t length) {
  std::vector<AnswerSequence> all;
  const auto asked = std::ssize(form.prompt(prompt));
  std::vector<text::Message> turns(prompt.begin(), prompt.end());
  turns.push_back({"assistant", ""});
  int64_t longest = 0;
  for (const std::string& answer : answers) {
    turns.back().content = answer;
    text::TemplatedChat chat = form.conversation(turns);
    while (!chat.tokens.empty() && !chat.answer[chat.tokens.size() - 1]) chat.tokens.pop_back();
    longest = std::max(longest, std::ssize(chat.tokens));
    all.push_back({std::move(chat.tokens), asked});
  }
  const int64_t over = std::max<int64_t>(0, longest - length);
  if (over > 0 && over >= asked) return {};
  for (AnswerSequence& sequence : all) sequence.drop(over);
  return all;
}

}  // namespace skein::rlhf::rewards
