#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/text/split/pattern.h"
#include "skein/text/split/words.h"

#include "reward_sources.h"

namespace skein::rlhf::rewards {
namespace {

int64_t characters(const std::string& text) {
  const std::string valid = text::with_valid_utf8(text);
  return std::count_if(valid.begin(), valid.end(), std::not_fn(continues_character));
}

}  // namespace

// The policy may find a text that the expression hangs on; a run must not end of it.
std::unique_ptr<RewardSource> regex_reward(const RewardSpec& spec, bool whole) {
  require(!spec.argument.empty(), "the reward {} needs a regular expression behind a colon",
          spec.kind);
  const auto pattern = std::make_shared<const text::Pattern>(
      spec.argument, whole ? text::Pattern::Extent::whole : text::Pattern::Extent::anywhere);
  return rule(spec, [pattern, name = shown(spec.text()),
                     warned = false](const Answer& answer) mutable {
    const text::Pattern::Outcome found = pattern->find(answer.text);
    if (found == text::Pattern::Outcome::too_much_work && !warned) {
      warned = true;
      log::warn(
          "the reward {} takes too much backtracking to match an answer to prompt {}; such answers "
          "count as no match",
          name, answer.prompt.number);
    }
    return found == text::Pattern::Outcome::yes;
  });
}

std::unique_ptr<RewardSource> length_reward(const RewardSpec& spec) {
  const std::string name = shown(spec.text());
  auto fields = read_fields(spec, spec.argument, {"target", "max", "unit"});
  require(fields.contains("target") != fields.contains("max"),
          "the reward {} needs one of target=N and max=N", name);
  const bool rising = fields.contains("max");
  const double bound = read_number(spec, "the length", fields[rising ? "max" : "target"]);
  require(bound >= 1 && bound == std::floor(bound),
          "the reward {} needs a whole length from 1 up, not {}", name, bound);
  const std::string unit = fields.contains("unit") ? fields["unit"] : "tokens";
  require(unit == "tokens" || unit == "characters",
          "the reward {} has unit={}; there are tokens and characters", name, unit);
  return rule(spec, [rising, bound, unit](const Answer& answer) {
    const double n = unit == "tokens" ? answer_length(answer) : characters(answer.text);
    return rising ? std::min(n, bound) / bound : -std::abs(n - bound) / bound;
  });
}

std::unique_ptr<RewardSource> ended_reward(const RewardSpec& spec) {
  require(spec.argument.empty(), "the reward ended takes no argument, but has {}",
          shown(spec.argument));
  return rule(spec, [](const Answer& answer) { return answer.ended; });
}

}  // namespace skein::rlhf::rewards
