#include "skein/rlhf/oracle/language.h"

#include "rlhf/oracle_fixtures.h"

namespace skein::rlhf::oracle {
namespace {

using namespace test;
using Ids = std::vector<int32_t>;

void refused(const std::string& text, std::initializer_list<std::string> words) {
  SCOPED_TRACE(text.substr(0, 400));
  expect_error(ExitCode::usage, words, [&] { parsed(text); });
}

// `from` in the small language stands as `to`, which may be several lines.
std::string with(const std::string& from, const std::string& to) {
  std::string text = kSmallLanguage;
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(OracleLanguage, TokensChainAndPrompts) {
  const OracleLanguage language = parsed(kSmallLanguage);
  EXPECT_EQ(language.alphabet, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(language.vocab_size(), 5);
  EXPECT_EQ(language.end_id(), 2);
  EXPECT_EQ(language.separator_id(), 3);
  EXPECT_EQ(language.pad_id(), 4);
  EXPECT_EQ(language.initial, (std::vector<double>{0.75, 0.25, 0}));
  EXPECT_EQ(language.transitions[1], (std::vector<double>{0.125, 0.5, 0.375}));
  ASSERT_EQ(language.prompts.size(), 2u);
  EXPECT_EQ(language.prompts[1].symbols, (Ids{0, 1}));
  EXPECT_EQ(language.prompts[0].probability, 0.75);
  EXPECT_EQ(language.responses.size(), 15);
  EXPECT_EQ(language.longest_prompt(), 2);
  EXPECT_EQ(language.context(), 5);
  EXPECT_EQ(language.after(language.prompts[1]), language.transitions[1]);
  EXPECT_EQ(language.prompt_tokens(language.prompts[1]), (Ids{0, 1, 3}));
}

TEST(OracleLanguage, LayoutIsForgivingAndNumbersMayBeFractions) {
  const OracleLanguage language = parsed(
      "\xEF\xBB\xBF# a comment\r\n\r\n  reward ended # another\r\nbeta 1/2 "
      "2\r\nresponse\t1\nprompt 1\nalphabet one two\nend .\nseparator "
      "|\npad _\n"
      "initial two 1/3 one 2/3\nfrom two one 1\nfrom one . 1e-1 two +0.9");
  EXPECT_EQ(language.initial, (std::vector<double>{2.0 / 3, 1.0 / 3, 0}));
  EXPECT_EQ(language.transitions[0], (std::vector<double>{0, 0.9, 0.1}));
  EXPECT_EQ(language.rewards.at(0).betas, (std::vector<double>{0.5, 2}));
  EXPECT_EQ(language.rewards.at(0).text, "ended");
  EXPECT_TRUE(language.prompts.at(0).symbols.empty());
  EXPECT_EQ(language.after(language.prompts[0]), language.initial);
  EXPECT_EQ(language.text_of(language.response_tokens(2)), "two");
  EXPECT_EQ(language.text_of(language.response_tokens(0)), ".");
}

TEST(OracleLanguage, PromptsOfTheChainAreAllItsBeginnings) {
  const OracleLanguage language =
      parsed(with("prompt 0.75 A\nprompt 0.25 A B\n", "prompts chain 0 2\n"));
  std::map<Ids, double> prompts;
  double sum = 0;
  for (const OraclePrompt& prompt : language.prompts) {
    prompts[prompt.symbols] = prompt.probability;
    sum += prompt.probability;
  }
  EXPECT_EQ(prompts.size(), 7u);
  EXPECT_NEAR(sum, 1, 1e-14);
  EXPECT_NEAR((prompts[{}]), 1.0 / 3, 1e-15);
  EXPECT_NEAR((prompts[{0}]), 0.75 / 3, 1e-15);
  EXPECT_NEAR((prompts[{1, 0}]), 0.25 * 0.125 / 0.625 / 3, 1e-15);
}

TEST(OracleLanguage, PromptsThatTheChainNeverMakesAreLeftOut) {
  std::string text = with("prompt 0.75 A\nprompt 0.25 A B\n", "prompts chain 2 2\n");
  text.replace(text.find("from B  A 0.125  B 0.5  </s> 0.375"), 34, "from B  A 1");
  const OracleLanguage language = parsed(text);
  EXPECT_EQ(language.prompts.size(), 3u);  // not B B
}

TEST(OracleLanguage, ResponsesOfTokens) {
  const OracleLanguage language = parsed(kSmallLanguage);
  for (int64_t i = 0; i < language.responses.size(); ++i)
    EXPECT_EQ(language.response_of(language.response_tokens(i)), i);
  const std::vector<Ids> none = {{},     {0},    {0, 1},  {0, 1, 0, 2}, {0, 1, 1, 1},
                                 {3, 2}, {2, 2}, {-1, 2}, {9, 2},       {2, 0, 0}};
  for (const Ids& tokens : none) EXPECT_EQ(language.response_of(tokens), -1);
}

TEST(OracleLanguage, UnendedScores) {
  const auto rewards = [](const std::string& how) {
    return parsed(with("unended replace -1\n", how)).rewards.at(0);
  };
  const OracleReward keep = rewards("unended keep\n"), none = rewards(""),
                     replace = rewards("unended replace -1\n"),
                     subtract = rewards("unended subtract 0.25\n");
  EXPECT_EQ(keep.rewards, keep.scores);
  EXPECT_EQ(none.rewards, keep.scores);
  EXPECT_EQ(replace.scores, keep.scores);
  EXPECT_EQ(keep.scores[14], 1);
  EXPECT_EQ(replace.rewards[14], -1);
  EXPECT_EQ(subtract.rewards[14], 0.75);
  EXPECT_EQ(replace.rewards[6], keep.scores[6]);
}

TEST(OracleLanguage, ThresholdsByReward) {
  const OracleLanguage language = parsed(with(
      "reward length\nbeta 0.5\n",
      "reward length\nbeta 1\nreward palindrome\nbeta 1\nclosed 0.5\nreward palindrome\nbeta 1 2"));
  ASSERT_EQ(language.rewards.size(), 3u);
  EXPECT_EQ(language.rewards[0].closed, 0.97);
  EXPECT_EQ(language.rewards[1].closed, 0.5);
  EXPECT_EQ(language.rewards[2].closed, 0.9);
  EXPECT_EQ(language.rewards[2].betas.size(), 2u);
}

TEST(OracleLanguage, LinesThatSayNothingKnown) {
  refused(kSmallLanguage + "betta 0.5\n", {"x.txt:14:", "betta", "known are alphabet"});
  refused(kSmallLanguage + std::string(1000, 'x') + "\n", {"x.txt:14:", "xxx..."});
  refused(kSmallLanguage + "# \xFF\n", {"x.txt:14:", "UTF-8"});
  refused("", {"x.txt has no line 'alphabet'", "alphabet A B C"});
  refused(kSmallLanguage + "response 4\n", {"x.txt:14:", "'response'", "second time", "x.txt:10"});
}

TEST(OracleLanguage, TokensThatCannotBe) {
  refused(with("alphabet A B", "alphabet"), {"x.txt:1:", "0 words", "alphabet A B C"});
  refused(with("alphabet A B", "alphabet A B A"),
          {"x.txt:1:", "'A' is both symbol 1 of the alphabet and symbol 3"});
  refused(with("alphabet A B", "alphabet A </s>"),
          {"x.txt:1:", "'</s>' is both the end and symbol 2"});
  refused(with("pad <pad>", "pad <sep>"),
          {"x.txt:4:", "'<sep>' is both the separator and the pad"});
  refused(with("alphabet A B", "alphabet A B=1"), {"x.txt:1:", "'B=1' is no name"});
  refused(with("alphabet A B", "alphabet A " + std::string(33, 'b')),
          {"x.txt:1:", "at most 32 bytes"});
  refused(with("alphabet A B",
               "alphabet A b\xC2\xA0"
               "b"),
          {"x.txt:1:", "cannot be a token"});
  refused(with("end </s>", "end <a> <b>"), {"x.txt:2:", "2 words", "end </s>"});
  refused(with("pad <pad>\n", ""), {"x.txt has no line 'pad'"});
}

TEST(OracleLanguage, ProbabilitiesThatCannotBe) {
  refused(with("B 0.25  </s> 0.25", "B 0.25  </s> 0.2"),
          {"x.txt:6:", "what follows A sum to 0.95", "must sum to 1"});
  refused(with("B 0.25  </s> 0.25", "B 0.25  </s> 0.250001"), {"x.txt:6:", "1.000001"});
  refused(with("A 0.5  B 0.25", "A 1  B -0.25"), {"x.txt:6:", "-0.25", "below 0"});
  refused(with("A 0.5  B 0.25", "A half  B 0.25"),
          {"x.txt:6:", "probability of A", "'half'", "no number"});
  refused(with("A 0.5  B 0.25", "A nan  B 0.25"), {"x.txt:6:", "'nan'", "no number"});
  refused(with("A 0.5  B 0.25", "A 1/0  B 0.25"), {"x.txt:6:", "'1/0'", "no number"});
  refused(with("A 0.5  B 0.25", "A 0.5  X 0.25"), {"x.txt:6:", "'X' is no symbol", "A B"});
  refused(with("A 0.5  B 0.25", "A 0.5  A 0.25"), {"x.txt:6:", "'A' is given two"});
  refused(with("A 0.5  B 0.25", "A 0.5  B"), {"x.txt:6:", "in pairs"});
  refused(with("from B ", "from A "), {"x.txt:7:", "what follows A", "second time", "x.txt:6"});
  refused(with("from B ", "from </s> "), {"x.txt:7:", "</s>", "cannot stand here"});
  refused(with("from B  A 0.125  B 0.5  </s> 0.375\n", ""),
          {"x.txt does not say what follows B", "from B"});
  refused(with("from A  A 0.5  B 0.25  </s> 0.25", "from"), {"x.txt:6:", "followed by nothing"});
  refused(with("A 0.75 B 0.25", "A 0.75"), {"x.txt:5:", "initial probabilities sum to 0.75"});
}

TEST(OracleLanguage, PromptsThatCannotBe) {
  const std::string both = "prompt 0.75 A\nprompt 0.25 A B\n";
  refused(with(both, ""), {"x.txt has no prompts"});
  refused(with(both, both + "prompts chain 1 2\n"), {"x.txt:8:", "x.txt:10", "only one"});
  refused(with("prompt 0.25 A B", "prompt 0.3 A B"), {"x.txt:9:", "prompts sum to 1.05"});
  refused(with("prompt 0.25 A B", "prompt 0.25 A"), {"x.txt:9:", "second time", "x.txt:8"});
  refused(with("prompt 0.25 A B", "prompt 0 A B"), {"x.txt:9:", "above 0"});
  refused(with("prompt 0.25 A B", "prompt A B"), {"x.txt:9:", "'A'", "no number"});
  refused(with("prompt 0.25 A B", "prompt 0.25 A C"), {"x.txt:9:", "'C' is no symbol"});
  refused(with("prompt 0.25 A B", "prompt 0.25 A </s>"), {"x.txt:9:", "</s>", "cannot stand here"});
  std::string text = with("prompt 0.25 A B", "prompt 0.25");
  refused(text.replace(text.find("initial A 0.75 B 0.25\n"), 22, ""),
          {"x.txt:8:", "empty prompt", "initial"});
  refused(with(both, "prompts chain 3 1\n"), {"x.txt:8:", "'1'", "between 3 and 1000"});
  refused(with(both, "prompts chain 1\n"), {"x.txt:8:", "2 words", "prompts chain 1 3"});
  refused(with(both, "prompts list 1 3\n"), {"x.txt:8:", "'prompts list'"});
  text = with(both, "prompts chain 1 2\n");
  refused(text.replace(text.find("initial A 0.75 B 0.25\n"), 22, ""),
          {"x.txt:7:", "no line 'initial'"});
  text = with(both, "prompts chain 1 2\n");
  refused(text.replace(text.find("from B  A 0.125  B 0.5  </s> 0.375"), 34, "from B  </s> 1"),
          {"x.txt:8:", "after 'B' the chain always ends"});
}

TEST(OracleLanguage, TooManyToEnumerate) {
  refused(with("response 3", "response 17"),
          {"x.txt:10:", "2 symbols", "262143", "at most 200000"});
  refused(with("response 3", "response 1000"), {"x.txt:10:", "at most 200000"});
  refused(with("response 3", "response 1001"), {"x.txt:10:", "'1001'", "between 1 and 1000"});
  refused(with("response 3", "response 0"), {"x.txt:10:", "'0'"});
  refused(with("prompt 0.75 A\nprompt 0.25 A B\n", "prompts chain 1 1000\n"),
          {"x.txt:8:", "15 responses", "13334 prompts", "at most 200000 pairs"});
  EXPECT_EQ(parsed(with("response 3", "response 15")).responses.size(), 65535);
}

TEST(OracleLanguage, UnendedThatCannotBe) {
  refused(with("unended replace -1", "unended drop"), {"x.txt:11:", "'unended drop'", "subtract"});
  refused(with("unended replace -1", "unended replace"), {"x.txt:11:", "1 words"});
  refused(with("unended replace -1", "unended keep 1"), {"x.txt:11:", "2 words"});
  refused(with("unended replace -1", "unended replace 1e7"), {"x.txt:11:", "1e7", "between"});
}

TEST(OracleLanguage, Files) {
  const Scratch scratch;
  write_file(scratch.file("l.txt"), kSmallLanguage);
  EXPECT_EQ(read_oracle_language(scratch.file("l.txt")).origin, scratch.file("l.txt"));
  expect_error(ExitCode::usage, {"missing.txt"},
               [&] { read_oracle_language(scratch.file("missing.txt")); });
  expect_error(ExitCode::usage, {scratch.file("")},
               [&] { read_oracle_language(scratch.file("")); });
  write_file(scratch.file("large.txt"), "");
  std::filesystem::resize_file(scratch.file("large.txt"), (uintmax_t{1} << 26) + 1);
  expect_error(ExitCode::usage, {"large.txt", "67108865 bytes"},
               [&] { read_oracle_language(scratch.file("large.txt")); });
}

TEST(OracleLanguage, TokenizerIsReadFromItsJson) {
  OracleLanguage language = parsed(kSmallLanguage);
  language.alphabet = {"A", "Bc"};
  const auto tokenizer = oracle_tokenizer(language);
  EXPECT_EQ(tokenizer->vocab_size(), 5);
  EXPECT_EQ(tokenizer->end_of_text(), 2);
  EXPECT_EQ(tokenizer->encode("A  Bc A\n"), (Ids{0, 1, 0}));
  EXPECT_EQ(tokenizer->encode("A x"), (Ids{0, 4}));
  EXPECT_EQ(tokenizer->encode_specials("A Bc<sep>Bc </s>"), (Ids{0, 1, 3, 1, 2}));
  EXPECT_EQ(tokenizer->decode({0, 1, 3, 1, 2}, false), "A Bc <sep> Bc </s>");
  EXPECT_EQ(tokenizer->decode({0, 1, 3, 1, 2, 4}), "A Bc Bc");
  EXPECT_EQ(tokenizer->id_of("<sep>"), 3);
  EXPECT_EQ(text::tokenizer_from_json(tokenizer->to_json())->to_json(), tokenizer->to_json());
}

TEST(OracleLanguage, TokenizersOfManyAndOddSymbols) {
  std::string text =
      "end $\nseparator |\npad ~\nresponse 1\nprompt 1 s0\nreward ended\nbeta 1\nalphabet \\ \" ## "
      "##x € <s";
  std::string rows =
      "from \\ $ 1\nfrom \" $ 1\nfrom ## $ 1\nfrom ##x $ 1\nfrom € $ 1\nfrom <s $ 1\n";
  for (int i = 0; i < 900; ++i) {
    text += " s" + std::to_string(i);
    rows += "from s" + std::to_string(i) + " $ 1\n";
  }
  refused(text + "\n" + rows, {"x.txt:11:", "followed by nothing"});  // # begins a comment
  text.erase(text.find(" ## ##x"), 7);
  rows.erase(rows.find("from ## $ 1\nfrom ##x $ 1\n"), 25);
  const OracleLanguage language = parsed(text + "\n" + rows);
  EXPECT_EQ(oracle_tokenizer(language)->encode("s899 \\ \" <s €"), (Ids{903, 0, 1, 3, 2}));
}

}  // namespace
}  // namespace skein::rlhf::oracle
