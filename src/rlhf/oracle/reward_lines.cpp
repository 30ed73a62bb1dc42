#include <algorithm>
#include <fmt/ranges.h>
#include <optional>

#include "skein/rlhf/oracle/reward.h"

#include "parts.h"

namespace skein::rlhf::oracle {
namespace {

constexpr double kLargest = 1e6;
constexpr double kLeastBeta = 1e-6;
constexpr double kClosed = 0.97, kClosedOfPalindromes = 0.90;

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// One reward: its line and the lines below it.
class RewardReader {
 public:
  RewardReader(const OracleLine& line, const OracleLanguage& language, const SymbolNames& names)
      : line_(line), language_(language), names_(names), kind_(kind_of(line)) {
    reward_.text = fmt::format("{}", fmt::join(line.words.begin() + 1, line.words.end(), " "));
    reward_.closed = kind_.name == "palindrome" ? kClosedOfPalindromes : kClosed;
    for (size_t i = 2; i < line.words.size(); ++i) read_argument(line.words[i]);
    const auto given = std::ssize(arguments_.symbols);
    line_.require_that(given >= kind_.least_symbols && given <= kind_.most_symbols,
                       "{} is followed by {} symbols; it takes {}", kind_.name, given,
                       kind_.most_symbols == 0   ? "none"
                       : kind_.most_symbols == 1 ? "one"
                                                 : "one or more");
    scores_.resize(language.responses.size());
  }

  void read(const OracleLine& line) {
    if (line.keyword() == "beta") return read_betas(line);
    if (line.keyword() == "closed") return read_closed(line);
    read_score(line);
  }

  OracleReward finish() {
    line_.require_that(!reward_.betas.empty(),
                       "the reward has no beta; a line such as this is missing below it: beta 0.5");
    for (int64_t i = 0; i < language_.responses.size(); ++i) {
      reward_.scores.push_back(scaled(plain_score(i), i));
      reward_.rewards.push_back(after_unended(reward_.scores.back(), i));
    }
    const auto [least, most] = std::minmax_element(reward_.rewards.begin(), reward_.rewards.end());
    line_.require_that(*least < *most,
                       "the reward is {} for every response, so there is nothing to tune for",
                       *least);
    return std::move(reward_);
  }

 private:
  static const NamedReward& kind_of(const OracleLine& line) {
    std::vector<std::string> known;
    for (const NamedReward& kind : named_rewards()) known.push_back(kind.name);
    line.require_that(line.words.size() > 1, "'reward' is followed by nothing; known are {}",
                      fmt::join(known, ", "));
    const auto found = std::find(known.begin(), known.end(), line.words[1]);
    line.require_that(found != known.end(), "the reward '{}' is unknown; known are {}",
                      shown_word(line.words[1]), fmt::join(known, ", "));
    return named_rewards()[found - known.begin()];
  }

  void read_argument(const std::string& word) {
    const size_t equals = word.find('=');
    if (equals == word.npos) return arguments_.symbols.push_back(names_.id(line_, word, false));
    const std::string name = word.substr(0, equals);
    const bool of_all = name == "scale" || name == "offset";
    line_.require_that(of_all || holds(kind_.numbers, name),
                       "{} has no '{}'; it has {}{}scale, offset", kind_.name, shown_word(name),
                       fmt::join(kind_.numbers, ", "), kind_.numbers.empty() ? "" : ", ");
    const double most = name == "graded"              ? 1
                        : of_all || name == "default" ? kLargest
                                                      : language_.responses.length();
    const double least = of_all || name == "default" ? -kLargest : 0;
    const double value = line_.number_within(word.substr(equals + 1), name, least, most);
    line_.require_that(arguments_.numbers.emplace(name, value).second, "{} is given twice", name);
  }

  void read_betas(const OracleLine& line) {
    line.require_words(1, line.words.size(), "beta 0.5 0.25");
    for (size_t i = 1; i < line.words.size(); ++i) {
      const double beta = line.number_within(line.words[i], "beta", kLeastBeta, kLargest);
      line.require_that(
          std::find(reward_.betas.begin(), reward_.betas.end(), beta) == reward_.betas.end(),
          "beta {} is given twice", line.words[i]);
      reward_.betas.push_back(beta);
    }
  }

  void read_closed(const OracleLine& line) {
    line.require_that(!closed_given_, "the reward has two lines 'closed'");
    line.require_words(1, 1, "closed 0.97");
    closed_given_ = true;
    reward_.closed = line.number_within(line.words[1], "the share of the gap to close", 0, 1);
  }

  int64_t read_response(const OracleLine& line) const {
    const bool ended = line.words.back() == language_.end;
    std::vector<int32_t> tokens;
    for (size_t i = 2; i < line.words.size(); ++i)
      tokens.push_back(names_.id(line, line.words[i], ended && i + 1 == line.words.size()));
    const int64_t response = language_.response_of(tokens);
    line.require_that(response >= 0,
                      "this is no response: it has {} tokens; a response has at most {} and ends "
                      "with {}, or has {} symbols without it",
                      tokens.size(), language_.responses.length(), language_.end,
                      language_.responses.length());
    line.require_that(ended || language_.unended != UnendedScore::replace,
                      "the score of a response without {} is never used, since 'unended replace' "
                      "gives all of them {}",
                      language_.end, language_.unended_value);
    return response;
  }

  void read_score(const OracleLine& line) {
    line.require_that(kind_.score == nullptr,
                      "a score is listed, but the reward above it is {}, not a table", kind_.name);
    line.require_words(2, kLongestOracleText + 2,
                       fmt::format("score 1.5 {} {}", language_.alphabet[0], language_.end));
    const double value = line.number_within(line.words[1], "the score", -kLargest, kLargest);
    std::optional<double>& score = scores_[read_response(line)];
    line.require_that(!score.has_value(), "the response has a score already");
    score = value;
  }

  double plain_score(int64_t response) const {
    const std::vector<int32_t> symbols = language_.responses.symbols_of(response);
    const bool ended = language_.responses.ended(response);
    if (kind_.score != nullptr)
      return kind_.score({symbols, ended, language_.responses.length()}, arguments_);
    if (const auto& listed = scores_[response]) return *listed;
    const bool never_used = !ended && language_.unended == UnendedScore::replace;
    line_.require_that(never_used || arguments_.numbers.contains("default"),
                       "the table does not list '{}'; list it, or give a score to all others: "
                       "reward table default=0",
                       language_.text_of(language_.response_tokens(response)));
    return arguments_.number("default", 0);
  }

  double scaled(double score, int64_t response) const {
    const double value = arguments_.number("scale", 1) * score + arguments_.number("offset", 0);
    line_.require_that(value >= -kLargest && value <= kLargest,
                       "the reward of '{}' is {}; it must lie between {} and {}",
                       language_.text_of(language_.response_tokens(response)), value, -kLargest,
                       kLargest);
    return value;
  }

  double after_unended(double score, int64_t response) const {
    if (language_.responses.ended(response) || language_.unended == UnendedScore::keep)
      return score;
    return language_.unended == UnendedScore::replace ? language_.unended_value
                                                      : score - language_.unended_value;
  }

  const OracleLine& line_;
  const OracleLanguage& language_;
  const SymbolNames& names_;
  const NamedReward& kind_;
  RewardArguments arguments_;
  std::vector<std::optional<double>> scores_;  // of a table
  bool closed_given_ = false;
  OracleReward reward_;
};

}  // namespace

std::vector<OracleReward> read_rewards(const OracleLines& lines, const OracleLanguage& language) {
  const SymbolNames names(language);
  std::vector<OracleReward> rewards;
  std::unique_ptr<RewardReader> reader;
  const auto finish = [&] {
    if (reader) rewards.push_back(reader->finish());
    reader.reset();
  };
  for (const OracleLine& line : lines.all()) {
    if (line.keyword() == "reward") {
      finish();
      reader = std::make_unique<RewardReader>(line, language, names);
    } else if (line.keyword() == "beta" || line.keyword() == "closed" ||
               line.keyword() == "score") {
      line.require_that(reader != nullptr,
                        "'{}' belongs to a reward, but no line 'reward' stands above it",
                        line.keyword());
      reader->read(line);
    }
  }
  finish();
  require(!rewards.empty(), "{} has no reward; a line such as this is missing: reward palindrome",
          lines.origin());
  return rewards;
}

}  // namespace skein::rlhf::oracle
