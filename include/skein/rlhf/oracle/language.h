// A language so small that all its responses can be enumerated, so that what tuning by rewards
// should reach is known exactly (skein/rlhf/oracle/oracle.h). Its text is a chain of the first
// order, from which a policy is pretrained; rewards and betas say what it is then tuned for. A file
// describes it, one statement a line, in any order but for what belongs to a reward:
//
//   alphabet  A B C                  # one token each; names of up to 32 bytes without = and #
//   end       </s>                   # the token that ends a response
//   separator <sep>                  # between prompt and response
//   pad       <pad>                  # fills up batches
//
//   initial   A 0.5  B 0.25  C 0.25  # how the first symbol of a text is drawn; what is not named
//                                    # has probability 0
//   from A    A 1/3  B 1/3  </s> 1/3 # what follows A; one such line a symbol of the alphabet
//   from B    C 0.8  </s> 0.2
//   from C    A 0.5  </s> 0.5
//
//   prompts   chain 1 3              # of 1 to 3 symbols, each length as often, drawn from the
//                                    # chain given that it does not end; or a list:
//                                    # prompt 0.75 A B, prompt 0.25 C (probability, symbols)
//   response  5                      # T, the most tokens of a response, its end included
//   unended   replace -1             # the reward of a response that was cut at T: replaced by -1;
//                                    # or subtract 1; or keep (the default)
//
//   reward    palindrome shortest=3  # see skein/rlhf/oracle/reward.h; any number of these, each
//                                    # with the two below
//   beta      0.5 0.25               # the weights of the KL divergence it is maximised under
//   closed    0.9                    # the least share of the gap a tuned policy must close;
//                                    # default 0.97, of palindrome 0.9
//
// A text is a prompt, the separator and a response. The response goes on with the chain from the
// last symbol of the prompt, as if there were no separator; after an empty prompt it begins anew.
// It may be empty. Numbers are decimal or fractions of two. Probabilities are at least 0 and a
// distribution sums to 1 within 1e-9. # begins a comment at the beginning of a line or after a
// blank.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skein/core/numbers.h"
#include "skein/rlhf/oracle/response_tree.h"
#include "skein/text/tokenizer.h"

namespace skein::rlhf::oracle {

// Pairs of a prompt and a response; more are refused.
constexpr int64_t kMostOraclePairs = 200'000;

// What becomes of the score of a response that did not end.
enum class UnendedScore { keep, replace, subtract };

struct OraclePrompt {
  std::vector<int32_t> symbols;
  double probability = 0;  // above 0; all of them sum to 1
};

struct OracleReward {
  std::string text;  // as the file says it: "palindrome shortest=3"
  // of each response by its number, before `unended` is applied: what a source of rewards gives
  std::vector<double> scores;
  std::vector<double> rewards;  // the same after it: what J is about. Not all equal.
  std::vector<double> betas;
  double closed = 0;  // the least share of the gap
};

// Token ids: the symbols are 0 to k - 1 in the order of the alphabet, then end, separator and pad.
struct OracleLanguage {
  std::string origin;                 // the file, for messages
  std::vector<std::string> alphabet;  // k names
  std::string end, separator, pad;
  // [k + 1]: of each symbol, then of the end; empty where nothing is drawn from it
  std::vector<double> initial;
  std::vector<std::vector<double>> transitions;  // [k][k + 1], likewise
  std::vector<OraclePrompt> prompts;
  ResponseTree responses{1, 1};
  UnendedScore unended = UnendedScore::keep;
  double unended_value = 0;  // what the score is replaced by, or what is subtracted
  std::vector<OracleReward> rewards;

  int64_t symbols() const { return std::ssize(alphabet); }
  int32_t end_id() const { return narrow<int32_t>(alphabet.size()); }
  int32_t separator_id() const { return end_id() + 1; }
  int32_t pad_id() const { return end_id() + 2; }
  int64_t vocab_size() const { return symbols() + 3; }
  int64_t longest_prompt() const;  // in symbols, without the separator
  // The most tokens that a model is fed: the longest prompt, the separator and T - 1 tokens of the
  // response.
  int64_t context() const { return longest_prompt() + responses.length(); }

  // What the next token is drawn from after this prompt: [k + 1].
  const std::vector<double>& after(const OraclePrompt& prompt) const;
  // The tokens a policy goes on from: the prompt and the separator.
  std::vector<int32_t> prompt_tokens(const OraclePrompt& prompt) const;
  // The symbols, and the end token where it ended.
  std::vector<int32_t> response_tokens(int64_t response) const;
  // The response of these tokens; -1 where they are none, such as those that hold a separator or
  // are too few without an end.
  int64_t response_of(std::span<const int32_t> tokens) const;
  // "A B A </s>"
  std::string text_of(std::span<const int32_t> tokens) const;
};

// Usage errors say origin:line, both values and what is expected.
OracleLanguage parse_oracle_language(const std::string& text, const std::string& origin);
OracleLanguage read_oracle_language(const std::string& path);

// Symbols between spaces, one token each; anything else is a pad. Ids are the language's, end,
// separator and pad are special tokens, and tokenizer_from_json() reads its JSON. As everywhere,
// end_of_text() is told by the token's name, such as </s>; else it is -1.
std::unique_ptr<text::Tokenizer> oracle_tokenizer(const OracleLanguage& language);

}  // namespace skein::rlhf::oracle
