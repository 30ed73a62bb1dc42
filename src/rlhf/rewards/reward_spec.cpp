#include <cmath>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/options/options.h"
#include "skein/core/strings.h"
#include "skein/text/split/split.h"

#include "reward_sources.h"

namespace skein::rlhf::rewards {
namespace {

constexpr size_t kMostShown = 200;

// Any other character after a backslash stays there with it: it is the reward's.
std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> items(1);
  for (size_t at = 0; at < list.size(); ++at) {
    if (list[at] == ';') {
      items.emplace_back();
    } else if (list[at] == '\\' && at + 1 < list.size()) {
      if (list[at + 1] != ';') items.back() += '\\';
      items.back() += list[++at];
    } else {
      items.back() += list[at];
    }
  }
  if (items.size() > 1 && trimmed(items.back()).empty()) items.pop_back();
  return items;
}

bool is_kind(std::string_view text) {
  for (const char c : text)
    if ((c < 'a' || c > 'z') && c != '_') return false;
  return !text.empty();
}

bool read_finite_number(std::string_view text, double& number) {
  const auto read = parsed_number<double>(text);
  if (!read || !std::isfinite(*read)) return false;
  number = *read;
  return true;
}

RewardSpec parse_reward(std::string_view item) {
  RewardSpec spec;
  std::string rest(item);
  const size_t mark = item.find_first_of(":*");
  if (mark != std::string_view::npos && item[mark] == '*') {
    require(read_finite_number(trimmed(item.substr(0, mark)), spec.weight),
            "the weight before '*' in the reward {} is no finite number", shown(item));
    rest = trimmed(item.substr(mark + 1));
  }
  const size_t colon = rest.find(':');
  spec.kind = trimmed(rest.substr(0, colon));
  if (colon != std::string::npos) spec.argument = trimmed(rest.substr(colon + 1));
  require(is_kind(spec.kind),
          "the reward {} does not begin with a kind, such as regex: or 0.5*length:", shown(item));
  return spec;
}

}  // namespace

std::string RewardSpec::text() const { return argument.empty() ? kind : kind + ":" + argument; }

std::vector<RewardSpec> parse_rewards(const std::string& list) {
  require(!trimmed(list).empty(),
          "no reward is given; regex:, length:, exact:, words:, ended and process: are some");
  std::vector<RewardSpec> specs;
  for (const std::string& item : split_list(list)) {
    require(!trimmed(item).empty(), "the list of rewards {} has an empty one", shown(list));
    specs.push_back(parse_reward(trimmed(item)));
  }
  return specs;
}

std::string shown(std::string_view text) {
  const std::string kept(
      text.substr(0, text::character_cut(text, std::min(text.size(), kMostShown))));
  return nlohmann::json(kept).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
         (kept.size() < text.size() ? "..." : "");
}

std::map<std::string, std::string> read_fields(const RewardSpec& spec, std::string_view text,
                                               const std::vector<std::string>& known) {
  std::map<std::string, std::string> fields;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string field = trimmed(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const size_t equals = field.find('=');
    const std::string key = trimmed(field.substr(0, equals));
    require(
        equals != std::string::npos && std::find(known.begin(), known.end(), key) != known.end(),
        "the reward {} has {}; it takes {}=...", shown(spec.text()), shown(field),
        fmt::join(known, "=..., "));
    require(fields.emplace(key, trimmed(field.substr(equals + 1))).second,
            "the reward {} says {}= twice", shown(spec.text()), key);
  }
  return fields;
}

double read_number(const RewardSpec& spec, const std::string& what, std::string_view text) {
  double number = 0;
  require(read_finite_number(text, number), "the reward {} has {} {}, which is no finite number",
          shown(spec.text()), what, shown(text));
  return number;
}

}  // namespace skein::rlhf::rewards
