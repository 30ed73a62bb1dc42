// A conversation with a model while it goes on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/train/chats/prompt_form.h"

namespace skein::train {

class Conversation {
 public:
  // form outlives it. most: tokens of a prompt, the rest of the model's context being for the
  // answer.
  Conversation(const PromptForm& form, int64_t most) : form_(form), most_(most) {}

  // The tokens that the model is given, with the user's next turn. Where they are more than `most`,
  // the oldest turns of user and model are forgotten, two at a time. A usage error where the turn
  // alone is too long; nothing changes then.
  std::vector<int32_t> ask(const std::string& text);
  void answer(const std::string& text) { turns_.push_back({"assistant", text}); }
  void forget() { turns_.clear(); }
  // Turns forgotten by the last ask().
  int64_t forgotten() const { return forgotten_; }
  const std::vector<text::Message>& turns() const { return turns_; }

 private:
  const PromptForm& form_;
  int64_t most_;
  std::vector<text::Message> turns_;
  int64_t forgotten_ = 0;
};

}  // namespace skein::train
