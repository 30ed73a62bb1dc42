#include <algorithm>
#include <cmath>
#include <functional>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/text/split/pattern.h"
#include "skein/text/split/words.h"

#include "reward_sources.h"

namespace skein {
namespace {

class RegexReward : public Rule {
 public:
  RegexReward(const RewardSpec& spec, Pattern::Extent extent)
      : Rule(spec), pattern_(spec.argument, extent) {}

 protected:
  // The policy may find a text that the expression hangs on; a run must not end of it.
  double score(const Answer& answer) override {
    const Pattern::Found found = pattern_.find(answer.text);
    if (found == Pattern::Found::too_much_work && !warned_) {
      warned_ = true;
      log::warn(
          "the reward {} takes too much backtracking to match an answer to prompt {}; such answers "
          "count as no match",
          name(), answer.prompt.number);
    }
    return found == Pattern::Found::yes ? 1 : 0;
  }

 private:
  Pattern pattern_;
  bool warned_ = false;
};

class LengthReward : public Rule {
 public:
  explicit LengthReward(const RewardSpec& spec) : Rule(spec) {
    auto fields = read_fields(spec, spec.argument, {"target", "max", "unit"});
    require(fields.contains("target") != fields.contains("max"),
            "the reward {} needs one of target=N and max=N", name());
    rising_ = fields.contains("max");
    bound_ = read_number(spec, "the length", fields[rising_ ? "max" : "target"]);
    require(bound_ >= 1 && bound_ == std::floor(bound_),
            "the reward {} needs a whole length from 1 up, not {}", name(), bound_);
    const std::string unit = fields.contains("unit") ? fields["unit"] : "tokens";
    require(unit == "tokens" || unit == "characters",
            "the reward {} has unit={}; there are tokens and characters", name(), unit);
    characters_ = unit == "characters";
  }

 protected:
  double score(const Answer& answer) override {
    const double n = characters_ ? characters(answer.text) : answer_length(answer);
    return rising_ ? std::min(n, bound_) / bound_ : -std::abs(n - bound_) / bound_;
  }

 private:
  static int64_t characters(const std::string& text) {
    const std::string valid = with_valid_utf8(text);
    return std::count_if(valid.begin(), valid.end(), std::not_fn(continues_character));
  }

  bool rising_ = false, characters_ = false;
  double bound_ = 0;
};

class EndedReward : public Rule {
 public:
  using Rule::Rule;

 protected:
  double score(const Answer& answer) override { return answer.ended ? 1 : 0; }
};

}  // namespace

std::unique_ptr<RewardSource> regex_reward(const RewardSpec& spec, bool whole) {
  require(!spec.argument.empty(), "the reward {} needs a regular expression behind a colon",
          spec.kind);
  return std::make_unique<RegexReward>(spec,
                                       whole ? Pattern::Extent::whole : Pattern::Extent::anywhere);
}

std::unique_ptr<RewardSource> length_reward(const RewardSpec& spec) {
  return std::make_unique<LengthReward>(spec);
}

std::unique_ptr<RewardSource> ended_reward(const RewardSpec& spec) {
  require(spec.argument.empty(), "the reward ended takes no argument, but has {}",
          shown(spec.argument));
  return std::make_unique<EndedReward>(spec);
}

}  // namespace skein
