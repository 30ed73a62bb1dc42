#include "skein/train/chats/conversation.h"

#include <utility>

#include "skein/core/error.h"

namespace skein::train {

std::vector<int32_t> Conversation::ask(const std::string& text) {
  std::vector<text::Message> kept = turns_;
  kept.push_back({"user", text});
  for (int64_t forgotten = 0;; forgotten += 2) {
    std::vector<int32_t> prompt = form_.prompt(form_.given(kept));
    const auto tokens = std::ssize(prompt);
    if (tokens <= most_) {
      turns_ = std::move(kept);
      forgotten_ = forgotten;
      return prompt;
    }
    require(kept.size() > 2,
            "these {} tokens, with what stands around them, are more than the {} that the model's "
            "context has beside an answer; say it more briefly, or give a smaller "
            "generate.max_tokens",
            tokens, most_);
    kept.erase(kept.begin(), kept.begin() + 2);
  }
}

}  // namespace skein::train
