// What the oracle's tests share: a small language, and its numbers by brute force over strings.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "skein/rlhf/oracle/language.h"

#include "data/data_fixtures.h"

namespace skein::test {

// Everything but prompts, response, unended and rewards.
inline const std::string kSmallChain =
    "alphabet A B\n"
    "end </s>\n"
    "separator <sep>\n"
    "pad <pad>\n"
    "initial A 0.75 B 0.25\n"
    "from A  A 0.5  B 0.25  </s> 0.25\n"
    "from B  A 0.125  B 0.5  </s> 0.375\n";

inline const std::string kSmallLanguage = kSmallChain +
                                          "prompt 0.75 A\n"
                                          "prompt 0.25 A B\n"
                                          "response 3\n"
                                          "unended replace -1\n"
                                          "reward length\n"
                                          "beta 0.5\n";

inline rlhf::oracle::OracleLanguage parsed(const std::string& text) {
  return rlhf::oracle::parse_oracle_language(text, "x.txt");
}

// A response as text ("AB$", $ being the end) and its probability.
using Probabilities = std::map<std::string, double>;

// All responses of up to `most` tokens that the chain of kSmallChain makes after a symbol.
inline Probabilities small_responses(char after, int most) {
  const std::map<char, std::map<char, double>> rows = {
      {'A', {{'A', 0.5}, {'B', 0.25}, {'$', 0.25}}},
      {'B', {{'A', 0.125}, {'B', 0.5}, {'$', 0.375}}}};
  Probabilities made;
  const std::function<void(const std::string&, char, double)> go_on =
      [&](const std::string& text, char last, double probability) {
        if (last == '$' || static_cast<int>(text.size()) == most) {
          made[text] = probability;
          return;
        }
        for (const auto& [next, p] : rows.at(last)) go_on(text + next, next, probability * p);
      };
  go_on("", after, 1);
  return made;
}

// "AB$" for a language of one-letter symbols.
inline std::string letters(const rlhf::oracle::OracleLanguage& language, int64_t response) {
  std::string text;
  for (const int32_t token : language.response_tokens(response))
    text += token == language.end_id() ? "$" : language.alphabet[static_cast<size_t>(token)];
  return text;
}

}  // namespace skein::test
