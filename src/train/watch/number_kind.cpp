#include "skein/train/watch/number_kind.h"

#include <algorithm>
#include <iterator>

namespace skein::train {
namespace {

using Group = NumberKind::Group;

// Whole names, or with a * in front their ends, or behind their beginnings. The first counts.
struct Pattern {
  std::string_view pattern;
  NumberKind kind;
};
constexpr Pattern kPatterns[] = {
    {"loss", {Group::loss}},
    {"*_loss", {Group::loss}},
    {"perplexity", {Group::loss, "", true}},
    {"*_perplexity", {Group::loss, "", true}},
    {"bits_per_byte", {Group::loss}},
    {"lr", {Group::learning}},
    {"*grad_norm", {Group::learning, "", true}},
    {"skipped", {Group::learning}},
    {"loss_scale", {Group::learning, "", true}},
    {"seconds", {Group::speed, "s"}},
    {"*_seconds", {Group::speed, "s"}},
    {"*tokens_per_second", {Group::speed}},
    {"*flops_per_second", {Group::speed}},
    {"share_of_peak", {Group::speed}},
    {"generation_share", {Group::speed}},
    {"scoring_share", {Group::speed}},
    {"training_share", {Group::speed}},
    {"*_bytes", {Group::speed, "bytes"}},
    {"tokens", {Group::speed}},
    {"reward*", {Group::rewards}},
    {"score*", {Group::rewards}},
    {"kl", {Group::rewards, "nats an answer"}},
    {"kl_*", {Group::rewards}},
    {"approx_kl", {Group::rewards}},
    {"entropy", {Group::rewards, "nats a token"}},
    {"answer_tokens", {Group::rewards, "tokens"}},
    {"ended", {Group::rewards}},
    {"clipped*", {Group::rewards}},
    {"chosen_*", {Group::rewards}},
    {"rejected_*", {Group::rewards}},
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
    case Group::loss: return "loss";
    case Group::learning: return "learning";
    case Group::rewards: return "rewards";
    case Group::scores: return "scores";
    case Group::speed: return "speed";
  }
  return "";
}

}  // namespace skein::train
