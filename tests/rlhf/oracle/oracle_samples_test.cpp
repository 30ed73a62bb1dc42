#include <algorithm>
#include <set>

#include "skein/rlhf/oracle/samples.h"

#include "rlhf/oracle_policies.h"

namespace skein::rlhf::oracle {
namespace {

using namespace test;
using Ids = std::vector<int32_t>;

constexpr int64_t kDraws = 40'000;

// Pearson's statistic of counts against kDraws times their probabilities; all below 0 mean
// something impossible was drawn.
double chi_square(const std::map<Ids, int64_t>& counts, const std::map<Ids, double>& expected) {
  double sum = 0;
  for (const auto& [what, probability] : expected) {
    const auto found = counts.find(what);
    const double seen = found == counts.end() ? 0 : static_cast<double>(found->second),
                 wanted = probability * static_cast<double>(kDraws);
    sum += (seen - wanted) * (seen - wanted) / wanted;
  }
  for (const auto& [what, count] : counts)
    EXPECT_TRUE(expected.contains(what)) << testing::PrintToString(what);
  return sum;
}

OracleLanguage chained() {
  std::string text = kSmallLanguage;
  const std::string list = "prompt 0.75 A\nprompt 0.25 A B\n";
  return parsed(text.replace(text.find(list), list.size(), "prompts chain 0 2\n"));
}

TEST(OracleSamples, TextsComeAsOftenAsTheChainSays) {
  const OracleLanguage language = chained();
  const ResponseLogs logs = chain_logs(language);
  std::map<Ids, double> expected;
  for (size_t x = 0; x < logs.size(); ++x)
    for (int64_t y = 0; y < language.responses.size(); ++y) {
      if (std::isinf(logs[x][static_cast<size_t>(y)])) continue;  // nothing, after nothing
      Ids text = language.prompt_tokens(language.prompts[x]);
      for (const int32_t token : language.response_tokens(y)) text.push_back(token);
      expected[text] += language.prompts[x].probability * std::exp(logs[x][static_cast<size_t>(y)]);
    }
  EXPECT_EQ(expected.size(), 104u);
  const OracleDraws draws(language, 7);
  std::map<Ids, int64_t> counts;
  for (int64_t i = 0; i < kDraws; ++i) ++counts[draws.text(i)];
  // 103 degrees of freedom: within 5 deviations of their mean.
  EXPECT_NEAR(chi_square(counts, expected), 103, 5 * std::sqrt(2 * 103.0));
}

TEST(OracleSamples, PromptsComeAsOftenAsTheySay) {
  const OracleLanguage language = chained();
  std::map<Ids, double> expected;
  for (const OraclePrompt& prompt : language.prompts) expected[prompt.symbols] = prompt.probability;
  std::map<Ids, int64_t> counts;
  const OracleDraws draws(language, 7);
  for (int64_t k = 0; k < kDraws; ++k)
    ++counts[language.prompts[static_cast<size_t>(draws.prompt(k))].symbols];
  EXPECT_LT(chi_square(counts, expected), 6 + 5 * std::sqrt(12.0));
}

TEST(OracleSamples, DrawsAreFunctionsOfSeedAndNumber) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const OracleDraws draws(language, 1), same(language, 1), other(language, 2);
  std::vector<Ids> texts, others;
  for (int64_t i = 0; i < 50; ++i) {
    texts.push_back(draws.text(i));
    others.push_back(other.text(i));
    EXPECT_EQ(same.text(49 - i), draws.text(49 - i));
    EXPECT_EQ(same.prompt(i), draws.prompt(i));
  }
  EXPECT_NE(texts, others);
}

TEST(OracleSamples, WeightsOfNothingAreNeverDrawn) {
  const WeightedDraw draw({0, 0.25, 0, 0.75, 0});
  EXPECT_EQ(draw.at(0), 1);
  EXPECT_EQ(draw.at(0.2499), 1);
  EXPECT_EQ(draw.at(0.25), 3);
  EXPECT_EQ(draw.at(1 - 0x1p-53), 3);
  EXPECT_EQ(WeightedDraw({0.1, 0.2, 0}).at(1), 1);
}

TEST(OracleSamples, RowsArePaddedAndShifted) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const OracleSamples samples(language, 3, 100);
  const OracleDraws draws(language, 3);
  EXPECT_EQ(samples.context(), 5);
  EXPECT_EQ(samples.samples_per_epoch(), 100);
  const data::Batch batch = samples.batch(10, 40);
  EXPECT_EQ(batch.tokens.shape(), (Shape{40, 5}));
  std::set<size_t> lengths;
  for (int64_t row = 0; row < 40; ++row) {
    const Ids text = draws.text(10 + row);
    lengths.insert(text.size());
    EXPECT_EQ(batch.sample_ids.data<int64_t>()[row], 10 + row);
    for (size_t t = 0; t < 5; ++t) {
      const size_t at = static_cast<size_t>(row) * 5 + t;
      const bool counts = t + 1 < text.size();
      EXPECT_EQ(batch.tokens.span<int32_t>()[at], counts ? text[t] : language.pad_id());
      EXPECT_EQ(batch.targets.span<int32_t>()[at], counts ? text[t + 1] : language.pad_id());
      EXPECT_EQ(batch.weights.span<float>()[at], counts ? 1.0f : 0.0f);
      EXPECT_EQ(batch.positions.span<int32_t>()[at], static_cast<int32_t>(t));
    }
  }
  EXPECT_GE(lengths.size(), 3u);
  EXPECT_TRUE(std::ranges::equal(samples.batch(12, 1).tokens.span<int32_t>(),
                                 batch.tokens.span<int32_t>().subspan(10, 5)));
}

// A coin thrown up to twice after A: p(end) = 1/2 each time. Texts A| $, A| A$, A| AA with 1/2,
// 1/4, 1/4.
TEST(OracleSamples, LeastLossByHand) {
  const std::string coin =
      "alphabet A B\nend $\nseparator |\npad _\nfrom A $ 0.5 A 0.5\nfrom B $ 1\nresponse 2\nreward "
      "ended\nbeta 1\n";
  EXPECT_NEAR(least_text_loss(parsed(coin + "prompt 1 A\n")), 1.5 * std::log(2) / 2.5, 1e-15);
  // B| $ as often as A|...: the first token is not predicted. A B| $ as often again: what follows A
  // is a second bit.
  const double two = least_text_loss(parsed(coin + "prompt 0.5 A\nprompt 0.5 B\n"));
  EXPECT_NEAR(two, 0.75 * std::log(2) / (1 + 1.25), 1e-15);
  const double fork = least_text_loss(parsed(coin + "prompt 0.5 A\nprompt 0.5 A B\n"));
  EXPECT_NEAR(fork, 1.75 * std::log(2) / (1.5 + 1.25), 1e-15);
}

TEST(OracleSamples, LeastLossOfTheFileThatComesWithTheProgram) {
  EXPECT_NEAR(least_text_loss(read_oracle_language("../configs/oracle/palindrome.txt")),
              1.1346499357430666, 1e-12);
}

}  // namespace
}  // namespace skein::rlhf::oracle
