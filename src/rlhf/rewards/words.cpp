#include "skein/text/split/words.h"

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/strings.h"
#include "skein/text/split/utf8.h"

#include "reward_sources.h"

namespace skein::rlhf::rewards {
namespace {

constexpr int64_t kLargestFile = int64_t{64} << 20;

using Weights = std::unordered_map<std::string, double>;

struct WordsArgument {
  std::string path;
  std::map<std::string, std::string> fields;
};

// Behind the path; a path may hold commas.
WordsArgument split_argument(const RewardSpec& spec) {
  const std::string_view all = spec.argument;
  size_t end = all.size();
  for (size_t comma = all.rfind(','); comma != std::string_view::npos;
       comma = all.substr(0, comma).rfind(',')) {
    const std::string_view field = all.substr(comma + 1);
    if (!field.starts_with("cap=") && !field.starts_with("per=")) break;
    end = comma;
  }
  const std::string fields = end < spec.argument.size() ? spec.argument.substr(end + 1) : "";
  return {spec.argument.substr(0, end), read_fields(spec, fields, {"cap", "per"})};
}

void add_line(const RewardSpec& spec, const std::string& path, int64_t number,
              const std::string& line, Weights& weights) {
  std::istringstream columns(line);
  std::string word, weight, more;
  columns >> word >> weight >> more;
  const std::vector<std::string> words = text::folded_words(word);
  require(more.empty() && words.size() == 1 && words[0] == text::folded(word),
          "{}:{}: {} is not a word and perhaps its weight", path, number, shown(line));
  const double value =
      weight.empty()
          ? 1
          : read_number(spec, fmt::format("on line {} of its file the weight", number), weight);
  require(weights.emplace(words[0], value).second,
          "{}:{}: the word {} stands there for the second time (case does not count)", path, number,
          shown(word));
}

Weights read_weights(const RewardSpec& spec, const std::string& path, const std::string& text) {
  require(text::valid_utf8(text), "{} is not valid UTF-8", path);
  Weights weights;
  std::istringstream lines(text);
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!text::folded(line).empty()) add_line(spec, path, number, line, weights);
  }
  require(!weights.empty(), "{}: no word is listed there for the reward {}", path,
          shown(spec.text()));
  return weights;
}

std::string read_list(const std::string& path) {
  const int64_t bytes = FileReader(path).size();
  require(bytes <= kLargestFile, "{} has {}; a list of words has {} at most", path,
          readable_size(bytes), readable_size(kLargestFile));
  return read_text(path);
}

}  // namespace

std::unique_ptr<RewardSource> words_reward(const RewardSpec& spec, Group& world) {
  const std::string name = shown(spec.text());
  const auto [path, fields] = split_argument(spec);
  require(!path.empty(), "the reward {} names no file", name);
  double most = 0;
  if (const auto cap = fields.find("cap"); cap != fields.end()) {
    most = read_number(spec, "cap", cap->second);
    require(most > 0, "the reward {} has cap={}, which must be above 0", name, most);
  }
  const auto per = fields.find("per");
  const bool per_token = per != fields.end();
  require(!per_token || per->second == "token", "the reward {} has per={}; there is per=token",
          name, per_token ? per->second : "");
  Weights weights = read_weights(
      spec, path, checkpoint::from_root(world, [&, &path = path] { return read_list(path); }));
  return rule(spec, [weights = std::move(weights), most, per_token](const Answer& answer) {
    double sum = 0;
    for (const std::string& word : text::folded_words(answer.text))
      if (const auto found = weights.find(word); found != weights.end()) sum += found->second;
    if (per_token) sum /= std::max<int64_t>(1, answer_length(answer));
    return most > 0 ? std::clamp(sum, -most, most) : sum;
  });
}

}  // namespace skein::rlhf::rewards
