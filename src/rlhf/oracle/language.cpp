#include "skein/rlhf/oracle/language.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <numeric>

#include "skein/core/files/files.h"
#include "skein/core/numbers.h"

#include "parts.h"

namespace skein::rlhf::oracle {
namespace {

constexpr size_t kMostSymbols = 1000;
constexpr size_t kLongestName = 32;
constexpr int64_t kMostFileBytes = int64_t{1} << 26;
constexpr double kSumTolerance = 1e-9;
constexpr double kLargestReward = 1e6;

const std::vector<std::string> kKeywords = {
    "alphabet", "end",      "separator", "pad",    "initial", "from",   "prompts",
    "prompt",   "response", "unended",   "reward", "beta",    "closed", "score"};

void check_keywords(const OracleLines& lines) {
  for (const OracleLine& line : lines.all())
    line.require_that(
        std::find(kKeywords.begin(), kKeywords.end(), line.keyword()) != kKeywords.end(),
        "a line begins with '{}'; known are {}", shown_word(line.keyword()),
        fmt::join(kKeywords, ", "));
}

std::string read_name(const OracleLine& line, const std::string& name) {
  line.require_that(name.size() <= kLongestName && name.find_first_of("=#") == name.npos,
                    "'{}' is no name of a token: names have at most {} bytes, and neither = nor #",
                    shown_word(name), kLongestName);
  return name;
}

std::string special(const OracleLines& lines, const std::string& keyword, const std::string& form) {
  const OracleLine& line = lines.needed(keyword, form);
  line.require_words(1, 1, form);
  return read_name(line, line.words[1]);
}

void check_distinct(const OracleLines& lines, const OracleLanguage& language) {
  std::map<std::string, std::string> roles = {{language.end, "the end"}};
  const auto add = [&](const std::string& name, const std::string& role, const char* keyword) {
    const auto [other, is_new] = roles.emplace(name, role);
    lines.one(keyword)->require_that(is_new,
                                     "'{}' is both {} and {}; each token needs a name of its own",
                                     name, other->second, role);
  };
  add(language.separator, "the separator", "separator");
  add(language.pad, "the pad", "pad");
  for (size_t i = 0; i < language.alphabet.size(); ++i)
    add(language.alphabet[i], fmt::format("symbol {} of the alphabet", i + 1), "alphabet");
}

void read_tokens(const OracleLines& lines, OracleLanguage& language) {
  const std::string form = "alphabet A B C";
  const OracleLine& line = lines.needed("alphabet", form);
  line.require_words(1, kMostSymbols, form + fmt::format(", of 1 to {} symbols", kMostSymbols));
  for (size_t i = 1; i < line.words.size(); ++i)
    language.alphabet.push_back(read_name(line, line.words[i]));
  language.end = special(lines, "end", "end </s>");
  language.separator = special(lines, "separator", "separator <sep>");
  language.pad = special(lines, "pad", "pad <pad>");
  check_distinct(lines, language);
  const auto tokenizer = oracle_tokenizer(language);
  for (size_t i = 0; i < language.alphabet.size(); ++i)
    line.require_that(
        tokenizer->encode(language.alphabet[i]) == std::vector<int32_t>{narrow<int32_t>(i)},
        "'{}' cannot be a token: it holds a blank or does not read as itself",
        language.alphabet[i]);
}

// A, 0.5, B, 0.5 from the word `first` on.
std::vector<double> read_pairs(const OracleLine& line, size_t first, const SymbolNames& names,
                               const OracleLanguage& language) {
  line.require_that(line.words.size() > first && (line.words.size() - first) % 2 == 0,
                    "tokens and probabilities must come in pairs, such as: A 0.5  B 0.25  {} 0.25",
                    language.end);
  std::vector<double> numbers(language.symbols() + 1);
  std::vector<char> given(numbers.size());
  for (size_t i = first; i < line.words.size(); i += 2) {
    const size_t id = names.id(line, line.words[i], true);
    line.require_that(given[id] == 0, "'{}' is given two probabilities", line.words[i]);
    given[id] = 1;
    numbers[id] =
        line.number(line.words[i + 1], fmt::format("the probability of {}", line.words[i]));
  }
  return numbers;
}

void read_chain(const OracleLines& lines, OracleLanguage& language) {
  const SymbolNames names(language);
  if (const OracleLine* line = lines.one("initial"))
    language.initial = read_distribution(*line, "the initial probabilities",
                                         read_pairs(*line, 1, names, language));
  std::map<int32_t, const OracleLine*> rows;
  language.transitions.resize(language.alphabet.size());
  for (const OracleLine* line : lines.named("from")) {
    line->require_that(
        line->words.size() > 1,
        "'from' is followed by nothing; a right line looks like this: from A  A 0.5  {} 0.5",
        language.end);
    const int32_t id = names.id(*line, line->words[1], false);
    const auto [other, is_new] = rows.emplace(id, line);
    line->require_that(is_new, "what follows {} is said a second time; {} says it first",
                       line->words[1], other->second->where);
    language.transitions[id] = read_distribution(
        *line, fmt::format("the probabilities of what follows {}", line->words[1]),
        read_pairs(*line, 2, names, language));
  }
  for (size_t i = 0; i < language.alphabet.size(); ++i)
    require(
        !language.transitions[i].empty(),
        "{} does not say what follows {}; a line such as this is missing: from {}  {} 0.5  {} 0.5",
        lines.origin(), language.alphabet[i], language.alphabet[i], language.alphabet[0],
        language.end);
}

void read_response(const OracleLines& lines, OracleLanguage& language) {
  const OracleLine& line = lines.needed("response", "response 5");
  line.require_words(1, 1, "response 5");
  const int64_t length =
      line.whole(line.words[1], "the most tokens of a response", 1, kLongestOracleText);
  const double count = ResponseTree::count(language.symbols(), length);
  line.require_that(count <= kMostOraclePairs,
                    "{} symbols have {:.6g} responses of up to {} tokens; at most {} can be "
                    "enumerated: fewer tokens or symbols are needed",
                    language.symbols(), count, length, kMostOraclePairs);
  language.responses = ResponseTree(language.symbols(), length);
}

void read_unended(const OracleLines& lines, OracleLanguage& language) {
  const OracleLine* line = lines.one("unended");
  if (line == nullptr) return;
  const std::string form = "unended replace -1, unended subtract 1 or unended keep";
  line->require_words(1, 2, form);
  const std::string& how = line->words[1];
  line->require_that(how == "keep" || how == "replace" || how == "subtract",
                     "'unended {}' is unknown; it may be: {}", shown_word(how), form);
  line->require_words(how == "keep" ? 1 : 2, how == "keep" ? 1 : 2, form);
  if (how == "keep") return;
  language.unended = how == "replace" ? UnendedScore::replace : UnendedScore::subtract;
  language.unended_value = line->number_within(line->words[2], "the number of 'unended'",
                                               -kLargestReward, kLargestReward);
}

}  // namespace

SymbolNames::SymbolNames(const OracleLanguage& language) : end_(language.end_id()) {
  for (size_t i = 0; i < language.alphabet.size(); ++i)
    ids_.emplace(language.alphabet[i], narrow<int32_t>(i));
  ids_.emplace(language.end, end_);
  const size_t most = std::min<size_t>(language.alphabet.size(), 10);
  listed_ = fmt::format("{}{}",
                        fmt::join(language.alphabet.begin(), language.alphabet.begin() + most, " "),
                        most < language.alphabet.size() ? " ..." : "");
}

int32_t SymbolNames::id(const OracleLine& line, const std::string& word, bool or_end) const {
  const auto found = ids_.find(word);
  line.require_that(found != ids_.end(), "'{}' is no symbol of the alphabet, which is {}",
                    shown_word(word), listed_);
  line.require_that(or_end || found->second != end_,
                    "the end, {}, cannot stand here; the alphabet is {}", word, listed_);
  return found->second;
}

std::vector<double> read_distribution(const OracleLine& line, const std::string& what,
                                      std::vector<double> numbers) {
  for (const double number : numbers)
    line.require_that(number >= 0, "{} hold {}; none can be below 0", what, number);
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  line.require_that(std::abs(sum - 1) <= kSumTolerance, "{} sum to {:.12g}; they must sum to 1",
                    what, sum);
  for (double& number : numbers) number /= sum;
  return numbers;
}

int64_t OracleLanguage::longest_prompt() const {
  size_t longest = 0;
  for (const OraclePrompt& prompt : prompts) longest = std::max(longest, prompt.symbols.size());
  return longest;
}

const std::vector<double>& OracleLanguage::after(const OraclePrompt& prompt) const {
  return prompt.symbols.empty() ? initial : transitions[prompt.symbols.back()];
}

std::vector<int32_t> OracleLanguage::prompt_tokens(const OraclePrompt& prompt) const {
  std::vector<int32_t> tokens = prompt.symbols;
  tokens.push_back(separator_id());
  return tokens;
}

std::vector<int32_t> OracleLanguage::response_tokens(int64_t response) const {
  std::vector<int32_t> tokens = responses.symbols_of(response);
  if (responses.ended(response)) tokens.push_back(end_id());
  return tokens;
}

int64_t OracleLanguage::response_of(std::span<const int32_t> tokens) const {
  const bool ended = !tokens.empty() && tokens.back() == end_id();
  const std::span<const int32_t> symbols = tokens.first(tokens.size() - (ended ? 1 : 0));
  const auto size = std::ssize(symbols);
  const bool whole = ended ? size < responses.length() : size == responses.length();
  const auto is_symbol = [&](int32_t token) { return token >= 0 && token < end_id(); };
  return whole && std::all_of(symbols.begin(), symbols.end(), is_symbol) ? responses.find(symbols)
                                                                         : -1;
}

std::string OracleLanguage::text_of(std::span<const int32_t> tokens) const {
  std::string text;
  for (const int32_t token : tokens) {
    SKEIN_CHECK(token >= 0 && token < vocab_size());
    const std::string& name = token < end_id()    ? alphabet[token]
                              : token == end_id() ? end
                              : token == pad_id() ? pad
                                                  : separator;
    text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

OracleLanguage parse_oracle_language(const std::string& text, const std::string& origin) {
  const OracleLines lines(text, origin);
  check_keywords(lines);
  OracleLanguage language;
  language.origin = origin;
  read_tokens(lines, language);
  read_chain(lines, language);
  read_response(lines, language);
  language.prompts = read_prompts(lines, language);
  read_unended(lines, language);
  language.rewards = read_rewards(lines, language);
  return language;
}

OracleLanguage read_oracle_language(const std::string& path) {
  const int64_t bytes = FileReader(path).size();
  require(bytes <= kMostFileBytes, "{} has {} bytes; a language file has at most {}", path, bytes,
          kMostFileBytes);
  return parse_oracle_language(read_text(path), path);
}

}  // namespace skein::rlhf::oracle
