// What the numbers of metrics.jsonl are about, for those who show them.
#pragma once

#include <string>
#include <string_view>

#include "skein/core/values.h"

namespace skein::train {

struct NumberKind {
  enum class Group { loss, learning, rewards, scores, speed };
  Group group = Group::scores;
  const char* unit = "";  // "": none, or one that the name says
  bool logarithmic = false;
};
// By its name, without "validation_": "grad_norm" and "critic_grad_norm" are of learning. What is
// not known is of the scores.
NumberKind kind_of_number(std::string_view name);
// "loss", "learning", "rewards", "scores", "speed".
const char* name_of(NumberKind::Group group);

// Numbers of evaluations are called as those of training, behind this.
constexpr std::string_view kValidationPrefix = "validation_";
inline bool of_validation(std::string_view name) { return name.starts_with(kValidationPrefix); }
NamedValues as_validation(NamedValues values);
// "loss" of "loss" and of "validation_loss".
inline std::string without_validation(std::string_view name) {
  return std::string(of_validation(name) ? name.substr(kValidationPrefix.size()) : name);
}

}  // namespace skein::train
