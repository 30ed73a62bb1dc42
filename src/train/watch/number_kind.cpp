#include "skein/train/watch/number_kind.h"

#include <algorithm>
#include <iterator>

namespace skein::train {
namespace {

using NumberGroup = NumberKind::Group;

// Whole names, or with a * in front their ends, or behind their beginnings. The first counts.
struct Pattern {
  std::string_view pattern;
  NumberKind kind;
};
constexpr Pattern kPatterns[] = {
    {"loss", {NumberGroup::loss}},
    {"*_loss", {NumberGroup::loss}},
    {"perplexity", {NumberGroup::loss, "", true}},
    {"*_perplexity", {NumberGroup::loss, "", true}},
    {"bits_per_byte", {NumberGroup::loss}},
    {"lr", {NumberGroup::learning}},
    {"*grad_norm", {NumberGroup::learning, "", true}},
    {"skipped", {NumberGroup::learning}},
    {"loss_scale", {NumberGroup::learning, "", true}},
    {"seconds", {NumberGroup::speed, "s"}},
    {"*_seconds", {NumberGroup::speed, "s"}},
    {"*tokens_per_second", {NumberGroup::speed}},
    {"*flops_per_second", {NumberGroup::speed}},
    {"links_per_second", {NumberGroup::speed}},
    {"share_of_peak", {NumberGroup::speed}},
    {"generation_share", {NumberGroup::speed}},
    {"scoring_share", {NumberGroup::speed}},
    {"training_share", {NumberGroup::speed}},
    {"*_bytes", {NumberGroup::speed, "bytes"}},
    {"tokens", {NumberGroup::speed}},
    {"reward*", {NumberGroup::rewards}},
    {"score*", {NumberGroup::rewards}},
    {"kl", {NumberGroup::rewards, "nats an answer"}},
    {"kl_*", {NumberGroup::rewards}},
    {"approx_kl", {NumberGroup::rewards}},
    {"entropy", {NumberGroup::rewards, "nats a token"}},
    {"answer_tokens", {NumberGroup::rewards, "tokens"}},
    {"ended", {NumberGroup::rewards}},
    {"clipped*", {NumberGroup::rewards}},
    {"chosen_*", {NumberGroup::rewards}},
    {"rejected_*", {NumberGroup::rewards}},
};

bool fits(std::string_view name, std::string_view pattern) {
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

}  // namespace

NumberKind kind_of_number(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kPatterns, [&](const Pattern& one) { return fits(name, one.pattern); });
  return found != std::end(kPatterns) ? found->kind : NumberKind{};
}

const char* name_of(NumberKind::Group group) {
  switch (group) {
    case NumberGroup::loss: return "loss";
    case NumberGroup::learning: return "learning";
    case NumberGroup::rewards: return "rewards";
    case NumberGroup::scores: return "scores";
    case NumberGroup::speed: return "speed";
  }
  return "";
}

NamedValues as_validation(NamedValues values) {
  for (auto& [name, value] : values) name.insert(0, kValidationPrefix);
  return values;
}

}  // namespace skein::train
