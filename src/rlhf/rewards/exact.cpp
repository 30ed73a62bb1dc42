// Answers compared with what the prompt's record says is right.
#include <algorithm>
#include <optional>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/text/split/pattern.h"
#include "skein/text/split/words.h"

#include "reward_sources.h"

namespace skein::rlhf::rewards {
namespace {

using Json = nlohmann::json;

std::string without_end_mark(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string comparable(std::string_view text) { return without_end_mark(text::folded(text)); }

// A sign counts where nothing that it could be subtracted from stands before it.
const text::Pattern& number_pattern() {
  static const text::Pattern pattern(
      "(?:(?<![\\w).])[-\u2212])?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\\.[0-9]+)?|[0-9]+(?:\\.[0-"
      "9]+)?|\\.[0-9]+)");
  return pattern;
}

// The same text for the same value: no commas, no leading zero, no trailing one behind the point.
std::string plain_number(std::string_view text) {
  bool negative = false;
  std::string whole, fraction;
  std::string* part = &whole;
  for (const char c : text) {
    if (c == '.')
      part = &fraction;
    else if (c >= '0' && c <= '9')
      *part += c;
    else
      negative = negative || c != ',';
  }
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  const std::string value =
      (whole.empty() ? "0" : whole) + (fraction.empty() ? "" : "." + fraction);
  return negative && value != "0" ? "-" + value : value;
}

std::optional<std::string> last_number(std::string_view text) {
  std::string_view last;
  number_pattern().divide(
      text, [&](std::string_view piece, bool matched) { last = matched ? piece : last; });
  return last.empty() ? std::nullopt : std::optional(plain_number(last));
}

std::string_view after_marks(std::string_view text) {
  const size_t marks = text.rfind("####");
  return marks == std::string_view::npos ? text : text.substr(marks + 4);
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

class ExactMatch {
 public:
  explicit ExactMatch(const RewardSpec& spec) : name_(shown(spec.text())) {
    auto fields = read_fields(spec, spec.argument, {"field", "match"});
    if (fields.contains("field")) field_ = fields["field"];
    require(!field_.empty(), "the reward {} names no field", name_);
    const std::string match = fields.contains("match") ? fields["match"] : "text";
    require(match == "text" || match == "number",
            "the reward {} has match={}; there are text and number", name_, match);
    numbers_ = match == "number";
  }

  bool matches(const Answer& answer) const {
    const std::optional<std::string> given =
        numbers_ ? last_number(answer.text) : comparable(answer.text);
    const std::vector<std::string> right = right_answers(answer.prompt);
    return std::find(right.begin(), right.end(), given) != right.end();
  }

  // As they are compared.
  std::vector<std::string> right_answers(const Prompt& prompt) const {
    const Json value = field_of(prompt);
    std::vector<std::string> all;
    for (const Json& one : value.is_array() ? value : Json::array({value})) {
      require(one.is_string() || one.is_number(),
              "field {} of the record of prompt {} is {}, not a text, a number or a list of them: "
              "the reward {} cannot compare with it",
              field_, prompt.number, shown(value.dump()), name_);
      all.push_back(numbers_ ? number_of(prompt.number, text_of(one)) : comparable(text_of(one)));
    }
    require(
        !all.empty(),
        "field {} of the record of prompt {} is an empty list: no answer can match the reward {}",
        field_, prompt.number, name_);
    return all;
  }

 private:
  std::string number_of(int64_t prompt, const std::string& text) const {
    const auto number = last_number(after_marks(text));
    require(
        number.has_value(),
        "field {} of the record of prompt {} has no number, which the reward {} compares with: {}",
        field_, prompt, name_, shown(text));
    return *number;
  }

  Json field_of(const Prompt& prompt) const {
    const Json json = Json::parse(prompt.record, nullptr, false);
    require(json.is_object(),
            "prompt {} has no record with the field {} that the reward {} compares with; give the "
            "prompts as JSONL",
            prompt.number, field_, name_);
    const auto found = json.find(field_);
    if (found != json.end()) return *found;
    std::string keys;
    for (const auto& item : json.items()) keys += (keys.empty() ? "" : ", ") + item.key();
    fail_usage(
        "the record of prompt {} has no field {} that the reward {} compares with; it has {}",
        prompt.number, field_, name_, shown(keys));
  }

  std::string name_, field_ = "answer";
  bool numbers_ = false;
};

}  // namespace

std::unique_ptr<RewardSource> exact_reward(const RewardSpec& spec) {
  const ExactMatch exact(spec);
  return rule(
      spec, [exact](const Answer& answer) { return exact.matches(answer); },
      [exact](const Prompt& prompt) { exact.right_answers(prompt); });
}

}  // namespace skein::rlhf::rewards
