#include "skein/rlhf/policy/guards.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::rlhf::policy {
namespace {

constexpr int64_t kMostImpossible = 3;
constexpr double kManyCut = 0.5;
// of a normal distribution's mass lies below its mean by more
constexpr double kThreeErrors = 0.00135;

// What answers without an end count for, and what may be done about them.
std::string share_of_cut(ShapingConfig::MissingEnd missing_end, bool all) {
  using MissingEnd = ShapingConfig::MissingEnd;
  if (missing_end == MissingEnd::mask)
    return std::string("and reward.missing_end=mask has them count for nothing") +
           (all ? ", so that no answer is learnt from" : "") + "; allow longer ones";
  return std::string("and what is scored is half an answer; allow longer ones") +
         (missing_end == MissingEnd::none ? ", or charge them by reward.missing_end" : "");
}

}  // namespace

KlFinding kl_finding(const std::vector<Episode>& episodes) {
  KlFinding found;
  double squares = 0;
  const double count = episodes.size();
  for (const Episode& episode : episodes) found.mean += response_kl(episode.path) / count;
  for (const Episode& episode : episodes)
    squares += std::pow(response_kl(episode.path) - found.mean, 2);
  found.error = count > 1 ? std::sqrt(squares / (count - 1) / count) : 0;
  found.hidden = -std::log(kThreeErrors) / count;
  return found;
}

int64_t guard_kl(const KlFinding& found, int64_t in_a_row, double temperature,
                 RepeatedWarnings& warnings) {
  if (!found.impossible()) return 0;
  const std::string far =
      found.error > 0 ? fmt::format("{:.1f} standard errors below 0", -found.mean / found.error)
                      : "and the same of all of them";
  const std::string text = fmt::format(
      "the KL to the reference is {:.4f} nats an answer, {}, which no policy that sampled these "
      "answers can have: they were drawn from another distribution than the one scored (here: "
      "temperature {}, all of the vocabulary but what is banned)",
      found.mean, far, temperature);
  if (in_a_row + 1 >= kMostImpossible) fail("{}, {} iterations in a row", text, kMostImpossible);
  warnings.tell("a KL that cannot be", text);
  return in_a_row + 1;
}

void guard_ratio(double share_off, int64_t iteration) {
  if (share_off == 0) return;
  fail(
      "iteration {}: before anything was learnt, {:.2g} of the sampled tokens have another "
      "probability than when they were scored (ratio not 1): dropout, a batch-dependent kernel or "
      "damaged memory; nothing of this iteration is saved",
      iteration, share_off);
}

void guard_scores(const std::vector<Episode>& episodes, int64_t flat, int64_t groups,
                  int64_t most_tokens, ShapingConfig::MissingEnd missing_end,
                  RepeatedWarnings& warnings) {
  const bool equal = std::all_of(episodes.begin(), episodes.end(), [&](const Episode& one) {
    return one.path.score == episodes.front().path.score;
  });
  if (equal)
    warnings.tell("scores that are all equal",
                  fmt::format("all {} answers have the score {}: there is nothing to learn from; "
                              "look at the reward, or sample more or other answers",
                              episodes.size(), shown_number(episodes.front().path.score)));
  else if (groups > 0 && flat * 2 > groups)
    warnings.tell(
        "prompts with equal rewards only",
        fmt::format("{} of {} prompts got answers of equal rewards only, which teach nothing", flat,
                    groups));
  const auto cut = std::count_if(episodes.begin(), episodes.end(),
                                 [](const Episode& one) { return !one.path.ended; });
  if (cut > kManyCut * episodes.size())
    warnings.tell(
        "answers that are cut",
        fmt::format("{} of {} answers were cut at generate.max_tokens={} and have no end, {}", cut,
                    episodes.size(), most_tokens,
                    share_of_cut(missing_end, cut == std::ssize(episodes))));
}

}  // namespace skein::rlhf::policy
