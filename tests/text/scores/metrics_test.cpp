// What the reference programs cannot say: sums in any order, any bytes, options that cannot be.
#include "skein/text/scores/metrics.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "skein/text/scores/bootstrap.h"

#include "text/golden_files.h"
#include "text/scores/edit_rate.h"
#include "text/scores/lcs.h"
#include "text/scores/means.h"
#include "text/scores/python_text.h"

namespace skein::text {
namespace {

using test::expect_refused;
using Texts = std::vector<std::string>;

Counts counts_of(const Metric& metric, const std::string& hypothesis, const Texts& references) {
  Counts counts(metric.width());
  metric.add(hypothesis, references, counts);
  return counts;
}

double score_of(const std::string& name, const std::string& hypothesis, const Texts& references,
                const MetricOptions& options = {}) {
  const auto metric = make_metric(name, options);
  return metric->values(counts_of(*metric, hypothesis, references)).scores.front().second;
}

Symbols random_symbols(std::mt19937& random, size_t most, uint32_t kinds) {
  Symbols made(random() % (most + 1));
  for (uint32_t& symbol : made) symbol = random() % kinds;
  return made;
}

TEST(Metrics, TheSameTextIsPerfect) {
  const Texts same{"Ein Haus, 3.5 Meter hoch; die Katze saß auf dem Dach."};
  for (const std::string& name : metric_names())
    EXPECT_NEAR(score_of(name, same[0], same), name == "ter" ? 0 : 100, 1e-12) << name;
}

TEST(Metrics, NothingAgainstSomethingIsNothing) {
  for (const std::string& name : metric_names()) {
    EXPECT_EQ(score_of(name, "", {"words"}), name == "ter" ? 100 : 0) << name;
    EXPECT_EQ(score_of(name, "words", {""}), name == "ter" ? 100 : 0) << name;
  }
}

TEST(Metrics, BytesThatAreNoUtf8CountAsReplacementCharacters) {
  for (const std::string& name : metric_names()) {
    const auto metric = make_metric(name, {});
    EXPECT_EQ(counts_of(*metric, "a \xC3 b\xFF\xFE c", {"a \xE2\x82 c d"}),
              counts_of(*metric, "a \uFFFD b\uFFFD\uFFFD c", {"a \uFFFD\uFFFD c d"}))
        << name;
  }
}

// In parts as ranks would have them, and back to front: the same numbers.
TEST(Metrics, SumsAreEqualInAnyOrder) {
  std::mt19937 random(3);
  const Texts words{"cat", "sat", "the", "mat", "on", "dogs", "ran", "2.5", "x"};
  std::vector<Texts> samples(200);
  for (Texts& sample : samples)
    for (int side = 0; side < 2; ++side) {
      std::string& text = sample.emplace_back();
      for (size_t n = random() % 12; n > 0; --n) text += words[random() % words.size()] + " ";
    }
  for (const std::string& name : metric_names()) {
    const auto metric = make_metric(name, {});
    Counts forward(metric->width()), backward = forward;
    for (const Texts& s : samples) metric->add(s[0], std::span(&s[1], 1), forward);
    std::ranges::reverse(samples);
    for (size_t begin = 0; begin < samples.size(); begin += 50) {
      Counts part(metric->width());
      for (size_t i = begin; i < begin + 50; ++i)
        metric->add(samples[i][0], std::span(&samples[i][1], 1), part);
      for (size_t k = 0; k < part.size(); ++k) backward[k] += part[k];
    }
    EXPECT_EQ(forward, backward) << name;
  }
}

TEST(Metrics, SharesAreSummedToTheirLastBit) {
  Counts sums(kShareNumbers);
  double exact = 0;
  for (int i = 1; i <= 1000; ++i) {
    add_share(1.0 / i, sums);
    exact += 1.0 / i;
  }
  EXPECT_NEAR(sum_of_shares(sums), exact, 1e-13);
  EXPECT_EQ(mean_share(sums, 0), 0);
}

TEST(Metrics, SingleSamplesEndAtTheirLongestGram) {
  const auto bleu = make_metric("bleu", {});
  const Counts counts = counts_of(*bleu, "a b", {"a b"});
  EXPECT_EQ(bleu->values(counts).scores.front().second, 0);
  EXPECT_NEAR(bleu->sample_values(counts).scores.front().second, 100, 1e-12);
}

TEST(Metrics, NamesAndSignatures) {
  const auto plus = make_metric("chrf", {.word_order = 2});
  EXPECT_EQ(plus->name(), "chrF2++");
  EXPECT_TRUE(plus->signature(3).starts_with(
      "nrefs:3|case:mixed|eff:yes|nc:6|nw:2|space:no|version:skein-"));
  const auto bleu = make_metric("bleu", {.smoothing = BleuSmoothing::floor});
  EXPECT_TRUE(bleu->signature(0, "bs:1000|seed:1")
                  .starts_with("nrefs:var|bs:1000|seed:1|case:mixed|eff:no|tok:13a|"
                               "smooth:floor[0.10]|version:skein-"));
}

TEST(Metrics, OptionsThatCannotBe) {
  expect_refused({"score.metrics", "\"blue\"", "bleu, chrf, ter", "did you mean \"bleu\"?"},
                 [] { make_metric("blue", {}); });
  expect_refused({"score.char_order=0", "from 1 to 100"},
                 [] { make_metric("chrf", {.char_order = 0}); });
  expect_refused({"score.word_order=-1", "from 0"},
                 [] { make_metric("chrf", {.word_order = -1}); });
  expect_refused({"score.beta=0", "from 1"}, [] { make_metric("chrf", {.beta = 0}); });
  expect_refused({"score.smooth_value=0.5", "leave it out"},
                 [] { make_metric("bleu", {.smooth_value = 0.5}); });
  expect_refused({"score.smooth_value=-3", "above 0"}, [] {
    make_metric("bleu", {.smoothing = BleuSmoothing::floor, .smooth_value = -3});
  });
}

TEST(PythonText, SplitsAsPythonDoes) {
  EXPECT_EQ(python_split("\x1f a\u00a0b\u200b\u3000\x85\xC2\x85\n"),
            (std::vector<std::string_view>{"a", "b\u200b", "\x85"}));
  EXPECT_TRUE(python_split(" \u2028\t").empty());
  EXPECT_EQ(stripped("\u3000 a b\x1c"), "a b");
}

TEST(PythonText, LowersSigmaByItsPlace) {
  EXPECT_EQ(python_lower("ΣΑΣ ΟΔΟΣ. Σ ΑΣ'Σ A\u0301Σ"), "σας οδος. σ ασ'ς a\u0301ς");
  EXPECT_EQ(python_lower("İK ǅ"), "i\u0307k ǆ");
}

// The table of the definition.
std::vector<Symbols> table_of(const Symbols& first, const Symbols& second) {
  std::vector<Symbols> table(first.size() + 1, Symbols(second.size() + 1));
  for (size_t i = 1; i <= first.size(); ++i)
    for (size_t j = 1; j <= second.size(); ++j)
      table[i][j] = first[i - 1] == second[j - 1] ? table[i - 1][j - 1] + 1
                                                  : std::max(table[i - 1][j], table[i][j - 1]);
  return table;
}

std::vector<int64_t> places_in(const std::vector<Symbols>& table, const Symbols& first,
                               const Symbols& second) {
  std::vector<int64_t> places;
  for (size_t i = first.size(), j = second.size(); i > 0 && j > 0;) {
    if (first[i - 1] == second[j - 1]) {
      places.insert(places.begin(), static_cast<int64_t>(--i));
      --j;
    } else if (table[i][j - 1] > table[i - 1][j]) {
      --j;
    } else {
      --i;
    }
  }
  return places;
}

TEST(Lcs, IsThatOfTheTable) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const uint32_t kinds = 1 + random() % 20;
    const Symbols first = random_symbols(random, 90, kinds);
    const Symbols second = random_symbols(random, 200, kinds);
    const auto table = table_of(first, second);
    EXPECT_EQ(lcs_length(first, second), table.back().back());
    EXPECT_EQ(lcs_places(first, second), places_in(table, first, second));
  }
}

TEST(EditRate, ShiftsCountOnce) {
  EXPECT_EQ(shift_edits({1, 2, 3, 4, 5, 6}, {4, 5, 6, 1, 2, 3}), 1);
  EXPECT_EQ(shift_edits({1, 2}, {}), 2);
  EXPECT_EQ(shift_edits({}, {1, 2, 3}), 3);
  EXPECT_EQ(shift_edits({1, 9, 3}, {1, 2, 3, 4}), 2);
}

TEST(Bootstrap, ResamplesAreFunctionsOfTheSeed) {
  for (const int64_t samples : {1, 2, 7, 1000}) {
    const auto times = resample(samples, 1, 0);
    EXPECT_EQ(std::ssize(times), samples);
    EXPECT_EQ(std::accumulate(times.begin(), times.end(), int64_t{0}), samples);
    EXPECT_EQ(times, resample(samples, 1, 0));
  }
  EXPECT_NE(resample(1000, 1, 0), resample(1000, 1, 1));
  EXPECT_NE(resample(1000, 1, 0), resample(1000, 2, 0));
}

TEST(Bootstrap, IntervalsLeaveOutAFortiethAtEachEnd) {
  std::vector<double> scores(80);
  std::iota(scores.begin(), scores.end(), 0);
  std::ranges::reverse(scores);
  const Interval interval = interval_of(scores);
  EXPECT_EQ(interval.mean, 39.5);
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 77);
}

}  // namespace
}  // namespace skein::text
