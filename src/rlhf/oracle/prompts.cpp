#include <fmt/ranges.h>

#include "parts.h"

namespace skein::rlhf::oracle {
namespace {

const char* const kForm = "prompts chain 1 3";

void check_count(const OracleLine& line, size_t prompts, const OracleLanguage& language) {
  const size_t most = kMostOraclePairs / language.responses.size();
  line.require_that(
      prompts <= most,
      "there are {} prompts or more and {} responses to each; at most {} pairs of them can be "
      "enumerated: fewer or shorter prompts, or shorter responses are needed",
      prompts, language.responses.size(), kMostOraclePairs);
}

// Adds all texts of `length` symbols that the chain makes of the beginning of one.
void extend(OraclePrompt& begun, int64_t length, const OracleLine& line,
            const OracleLanguage& language, std::vector<OraclePrompt>& prompts) {
  if (std::ssize(begun.symbols) == length) {
    prompts.push_back(begun);
    return check_count(line, prompts.size(), language);
  }
  const std::vector<double>& next = language.after(begun);
  double goes_on = 0;
  for (int32_t symbol = 0; symbol < language.end_id(); ++symbol) goes_on += next[symbol];
  line.require_that(goes_on > 0,
                    "prompts of {} symbols cannot be drawn: after '{}' the chain always ends",
                    length, language.text_of(begun.symbols));
  const double probability = begun.probability;
  for (int32_t symbol = 0; symbol < language.end_id(); ++symbol) {
    if (next[symbol] == 0) continue;
    begun.symbols.push_back(symbol);
    begun.probability = probability * next[symbol] / goes_on;
    extend(begun, length, line, language, prompts);
    begun.symbols.pop_back();
  }
}

std::vector<OraclePrompt> from_chain(const OracleLine& line, const OracleLanguage& language) {
  line.require_words(3, 3, kForm);
  line.require_that(line.words[1] == "chain",
                    "'prompts {}' is unknown; a right line looks like this: {}",
                    shown_word(line.words[1]), kForm);
  const int64_t least =
      line.whole(line.words[2], "the fewest symbols of a prompt", 0, kLongestOracleText);
  const int64_t most =
      line.whole(line.words[3], "the most symbols of a prompt", least, kLongestOracleText);
  line.require_that(!language.initial.empty(),
                    "prompts are drawn from the chain, but no line 'initial' says how they begin");
  std::vector<OraclePrompt> prompts;
  for (int64_t length = least; length <= most; ++length) {
    OraclePrompt begun{{}, 1.0 / (most - least + 1)};
    extend(begun, length, line, language, prompts);
  }
  return prompts;
}

std::vector<OraclePrompt> from_list(const std::vector<const OracleLine*>& lines,
                                    const OracleLanguage& language) {
  const SymbolNames names(language);
  std::map<std::vector<int32_t>, const OracleLine*> seen;
  std::vector<double> probabilities;
  std::vector<OraclePrompt> prompts;
  for (const OracleLine* line : lines) {
    line->require_words(1, kLongestOracleText + 1, "prompt 0.25 A B");
    probabilities.push_back(line->number(line->words[1], "the probability of the prompt"));
    line->require_that(probabilities.back() > 0,
                       "the probability of the prompt is {}; it must be above 0", line->words[1]);
    std::vector<int32_t>& symbols = prompts.emplace_back().symbols;
    for (size_t i = 2; i < line->words.size(); ++i)
      symbols.push_back(names.id(*line, line->words[i], false));
    const auto [other, is_new] = seen.emplace(symbols, line);
    line->require_that(is_new, "the prompt is listed a second time; {} lists it first",
                       other->second->where);
    line->require_that(
        !symbols.empty() || !language.initial.empty(),
        "after an empty prompt a response begins anew, but no line 'initial' says how");
    check_count(*line, prompts.size(), language);
  }
  probabilities = read_distribution(*lines.back(), "the probabilities of the prompts",
                                    std::move(probabilities));
  for (size_t i = 0; i < prompts.size(); ++i) prompts[i].probability = probabilities[i];
  return prompts;
}

}  // namespace

std::vector<OraclePrompt> read_prompts(const OracleLines& lines, const OracleLanguage& language) {
  const OracleLine* chain = lines.one("prompts");
  const std::vector<const OracleLine*> list = lines.named("prompt");
  if (chain != nullptr && !list.empty())
    list[0]->refuse("a prompt is listed, but {} draws them from the chain; only one can be",
                    chain->where);
  require(chain != nullptr || !list.empty(),
          "{} has no prompts; a line such as this is missing: {}, or: prompt 1 A B", lines.origin(),
          kForm);
  return chain != nullptr ? from_chain(*chain, language) : from_list(list, language);
}

}  // namespace skein::rlhf::oracle
