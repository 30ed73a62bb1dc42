// Lengths and places of infilled spans against their exact law.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

#include "skein/data/noise/text_noise.h"

#include "data/noise/noise_fixtures.h"

namespace skein::data {
namespace {

using test::chi_square;
using test::chi_square_limit;
using test::kRoomy;
using test::no_noise;
using test::noised;
using test::NoiseWords;
using test::short_words;

using Ids = std::vector<int32_t>;

double poisson(double mean, int64_t number) {
  double share = std::exp(-mean);
  for (int64_t i = 1; i <= number; ++i) share *= mean / static_cast<double>(i);
  return share;
}

double at_least(double mean, int64_t number) {
  double below = 0;
  for (int64_t i = 0; i < number; ++i) below += poisson(mean, i);
  return 1 - below;
}

// How often sums of drawn lengths are s on their way, each number counting that is drawn there.
std::vector<double> visits(int64_t sum, double mean) {
  std::vector<double> made(static_cast<size_t>(sum), 0);
  for (int64_t s = 0; s < sum; ++s) {
    double from = s == 0 ? 1 : 0;
    for (int64_t length = 1; length <= s; ++length)
      from += made[static_cast<size_t>(s - length)] * poisson(mean, length);
    made[static_cast<size_t>(s)] = from / (1 - poisson(mean, 0));
  }
  return made;
}

TEST(TextNoise, SpansAreDrawnByPoissonsLawAndTheLastIsTrimmed) {
  constexpr int64_t kSum = 8;
  constexpr int kDraws = 20000;
  const std::vector<double> visited = visits(kSum, 3);
  std::map<int64_t, double> first, last, first_law, last_law;
  double numbers = 0;
  for (uint64_t stream = 0; stream < kDraws; ++stream) {
    Draws draws(11, stream);
    const auto lengths = drawn_lengths(kSum, 3, draws);
    ASSERT_EQ(std::reduce(lengths.begin(), lengths.end()), kSum);
    ++first[lengths.front()];
    ++last[lengths.back()];
    numbers += static_cast<double>(lengths.size());
  }
  for (int64_t length = 0; length <= kSum; ++length) {
    first_law[length] = kDraws * (length < kSum ? poisson(3, length) : at_least(3, length));
    if (length > 0)
      last_law[length] = kDraws * visited[static_cast<size_t>(kSum - length)] * at_least(3, length);
  }
  int cells = 0;
  EXPECT_LT(chi_square(first_law, first, &cells), chi_square_limit(9));
  EXPECT_EQ(cells, 9);
  EXPECT_LT(chi_square(last_law, last, &cells), chi_square_limit(8));
  EXPECT_EQ(cells, 8);
  EXPECT_NEAR(numbers / kDraws, std::reduce(visited.begin(), visited.end()), 0.05);
}

// All sources that a text of 4 words becomes when 2 of them are hidden, with how likely they are.
class SourceLaw {
 public:
  explicit SourceLaw(const Ids& text) : text_(text) { draw({}, 0, 1); }
  const std::map<Ids, double>& law() const { return law_; }

 private:
  void draw(std::vector<int64_t> lengths, int64_t sum, double share) {
    if (sum == 2) return arrange(std::move(lengths), share);
    if (lengths.size() > 6) return;  // less than 1e-6 of all
    lengths.push_back(0);
    for (int64_t length = 0; length <= 2 - sum; ++length) {
      lengths.back() = length;
      draw(lengths, sum + length,
           share * (length == 2 - sum ? at_least(3, length) : poisson(3, length)));
    }
  }

  void arrange(std::vector<int64_t> lengths, double share) {
    const size_t slots = lengths.size() + 2;
    std::ranges::sort(lengths);
    std::vector<std::pair<std::vector<bool>, std::vector<int64_t>>> ways;
    do {
      std::vector<bool> spans(slots, false);
      std::fill(spans.begin() + 2, spans.end(), true);
      do {
        ways.emplace_back(spans, lengths);
      } while (std::next_permutation(spans.begin(), spans.end()));
    } while (std::ranges::next_permutation(lengths).found);
    for (const auto& [spans, order] : ways)
      law_[source(spans, order)] += share / static_cast<double>(ways.size());
  }

  Ids source(const std::vector<bool>& spans, const std::vector<int64_t>& order) const {
    Ids made;
    int64_t word = 0;
    for (size_t slot = 0, span = 0; slot < spans.size(); ++slot)
      if (spans[slot]) {
        made.push_back(NoiseWords::kHidden);
        word += order[span++];
      } else {
        made.push_back(text_[static_cast<size_t>(word++)]);
      }
    return made;
  }

  Ids text_;
  std::map<Ids, double> law_;
};

TEST(TextNoise, InfilledSourcesFollowTheExactLaw) {
  const Ids text = short_words(4);
  NoiseConfig config = no_noise();
  config.infill = 0.5;
  constexpr int kDraws = 20000;
  std::map<Ids, double> counted, expected = SourceLaw(text).law();
  for (auto& [source, share] : expected) share *= kDraws;
  for (uint64_t stream = 0; stream < kDraws; ++stream)
    ++counted[noised(text, config, stream).tokens];
  int cells = 0;
  const double distance = chi_square(expected, counted, &cells);
  EXPECT_LT(distance, chi_square_limit(cells));
  EXPECT_GT(cells, 15);
}

TEST(TextNoise, StaysWithinTheRoom) {
  const Ids text = short_words(6);
  NoiseConfig config = no_noise();
  config.infill = 0.5;
  config.span = 1;  // a third of all spans hide nothing
  size_t longest = 0;
  for (uint64_t stream = 0; stream < 300; ++stream) {
    const NoisedText tight = noised(text, config, stream, {}, 6);
    EXPECT_LE(tight.tokens.size(), 6u);
    EXPECT_EQ(tight.tokens.size() -
                  static_cast<size_t>(std::ranges::count(tight.tokens, NoiseWords::kHidden)),
              3u);
    longest = std::max(longest, noised(text, config, stream).tokens.size());
  }
  EXPECT_GT(longest, 6u);
}

}  // namespace
}  // namespace skein::data
