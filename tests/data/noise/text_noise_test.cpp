// Each noise does what it says, as often as it says, to words only, and nothing is lost that the
// target does not have.
#include "skein/data/noise/text_noise.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "data/noise/noise_fixtures.h"

namespace skein::data {
namespace {

using test::chi_square;
using test::chi_square_limit;
using test::no_noise;
using test::noised;
using test::NoiseWords;
using test::short_words;

using Ids = std::vector<int32_t>;

// Words of one, two and three tokens in turn.
Ids long_words(int32_t count) {
  Ids made;
  for (int32_t i = 0; i < count; ++i) {
    const int32_t id = 6 + i % 400 * 2;
    made.push_back(id);
    for (int32_t more = i % 3; more > 0; --more) made.push_back(id + 1);
  }
  return made;
}

int64_t masks_in(const NoisedText& text) {
  return std::ranges::count(text.tokens, NoiseWords::kHidden);
}

// What is shown is of the text, once, and what is not is a mask or random.
void expect_origins(const Ids& text, const NoisedText& made) {
  ASSERT_EQ(made.tokens.size(), made.origins.size());
  std::set<int32_t> seen;
  for (size_t i = 0; i < made.tokens.size(); ++i) {
    if (made.origins[i] < 0) continue;
    EXPECT_EQ(made.tokens[i], text[static_cast<size_t>(made.origins[i])]);
    EXPECT_TRUE(seen.insert(made.origins[i]).second);
  }
}

TEST(TextNoise, PermutesWholeSentencesAllOrdersBeingAsLikely) {
  const Ids text = short_words(9), sentences{0, 2, 5};
  NoiseConfig config = no_noise();
  config.permute = 1;
  std::map<Ids, double> orders, expected;
  constexpr int kDraws = 6000;
  for (uint64_t stream = 0; stream < kDraws; ++stream) {
    const NoisedText made = noised(text, config, stream, sentences);
    Ids sorted = made.tokens;
    std::ranges::sort(sorted);
    ASSERT_EQ(sorted, text) << "the same tokens";
    ++orders[made.tokens];
  }
  Ids order{0, 1, 2};
  do {
    Ids wanted;
    for (const int32_t s : order)
      for (int32_t i = std::vector{0, 2, 5}[s]; i < std::vector{2, 5, 9}[s]; ++i)
        wanted.push_back(text[i]);
    expected[wanted] = kDraws / 6.0;
  } while (std::ranges::next_permutation(order).found);
  int cells = 0;
  EXPECT_LT(chi_square(expected, orders, &cells), chi_square_limit(6));
  EXPECT_EQ(cells, 6);
}

TEST(TextNoise, PermutesAPartOfTheSentences) {
  const Ids text = short_words(8), sentences{0, 1, 2, 3, 4, 5, 6, 7};
  NoiseConfig config = no_noise();
  config.permute = 0.25;
  int64_t stay = 0;
  for (uint64_t stream = 0; stream < 2000; ++stream) {
    const Ids made = noised(text, config, stream, sentences).tokens;
    int64_t moved = 0;
    for (size_t i = 0; i < 8; ++i) moved += made[i] != text[i];
    EXPECT_TRUE(moved == 0 || moved == 2);
    stay += moved == 0;
  }
  EXPECT_NEAR(stay, 1000, 3 * std::sqrt(500.0)) << "two sentences change places half of the time";
}

TEST(TextNoise, RotatesToAnyTokenAsOftenAsAsked) {
  const Ids text = long_words(5);
  NoiseConfig config = no_noise();
  config.rotate = 0.5;
  std::map<int32_t, double> firsts, expected;
  constexpr int kDraws = 9000;
  for (uint64_t stream = 0; stream < kDraws; ++stream) {
    const NoisedText made = noised(text, config, stream);
    const int32_t first = made.origins.front();
    Ids wanted = text;
    std::ranges::rotate(wanted, wanted.begin() + first);
    ASSERT_EQ(made.tokens, wanted);
    ++firsts[first];
  }
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t i = 0; i < size; ++i) expected[i] = kDraws * (0.5 / size + (i == 0 ? 0.5 : 0.0));
  int cells = 0;
  EXPECT_LT(chi_square(expected, firsts, &cells), chi_square_limit(size));
}

// Of a million tokens.
struct Tally {
  double samples = 0, tokens = 0, words = 0, hidden = 0, hidden_words = 0, masks = 0, random = 0;
};

Tally tally(const NoiseConfig& config) {
  Tally made;
  while (made.tokens < 1e6) {
    const Ids text = long_words(203 + static_cast<int32_t>(made.samples) % 60);
    const NoisedText one = noised(text, config, static_cast<uint64_t>(made.samples));
    std::vector<bool> shown(text.size(), false);
    for (size_t i = 0; i < one.tokens.size(); ++i)
      if (one.origins[i] >= 0)
        shown[static_cast<size_t>(one.origins[i])] = true;
      else
        ++(one.tokens[i] == NoiseWords::kHidden ? made.masks : made.random);
    ++made.samples;
    made.tokens += static_cast<double>(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
      made.hidden += !shown[i];
      made.words += text[i] % 2 == 0;
      made.hidden_words += text[i] % 2 == 0 && !shown[i];
    }
  }
  return made;
}

// Within 3 standard errors; a sample's count is between its two neighbours.
void expect_rate(double found, double of, double rate, const Tally& all) {
  EXPECT_NEAR(found, rate * of, 3 * std::sqrt(all.samples / 4)) << "of " << of;
}

TEST(TextNoise, MasksAndDeletesTheirPartsOfTheTokens) {
  NoiseConfig config = no_noise();
  config.mask = 0.15;
  config.remove = 0.1;
  const Tally found = tally(config);
  expect_rate(found.hidden, found.tokens, 0.25, found);
  const double masked = found.masks + found.random;
  expect_rate(masked, found.tokens, 0.15, found);
  EXPECT_NEAR(found.random, 0.1 * masked, 3 * std::sqrt(masked * 0.1 * 0.9));
}

TEST(TextNoise, TakesWordsWholeWhereAsked) {
  NoiseConfig config = no_noise();
  config.mask = 0.15;
  config.random = 0;
  config.unit = MaskUnit::word;
  const Tally found = tally(config);
  expect_rate(found.hidden_words, found.words, 0.15, found);
  EXPECT_EQ(found.masks, found.hidden) << "a mask for each token";
  const Ids text = long_words(60);
  for (uint64_t stream = 0; stream < 50; ++stream) {
    const Ids made = noised(text, config, stream).tokens;
    for (size_t i = 1; i < text.size(); ++i)
      if (text[i] % 2 == 1) {
        EXPECT_EQ(made[i] == NoiseWords::kHidden, made[i - 1] == NoiseWords::kHidden);
      }
  }
}

TEST(TextNoise, InfillsItsPartOfTheWordsAndAllThreeAddUp) {
  NoiseConfig config = no_noise();
  config.infill = 0.3;
  const Tally alone = tally(config);
  expect_rate(alone.hidden_words, alone.words, 0.3, alone);
  config.mask = 0.1;
  config.remove = 0.05;
  config.random = 1;
  config.unit = MaskUnit::word;
  const Tally found = tally(config);
  expect_rate(found.hidden_words, found.words, 0.45, found);
}

TEST(TextNoise, RatesHoldForShortTextsToo) {
  Draws draws(3, 4);
  int64_t sum = 0;
  for (int i = 0; i < 20000; ++i) {
    const int64_t drawn = drawn_count(1.3, draws);
    ASSERT_TRUE(drawn == 1 || drawn == 2);
    sum += drawn;
  }
  EXPECT_NEAR(static_cast<double>(sum), 26000, 3 * std::sqrt(20000 * 0.3 * 0.7));
  EXPECT_EQ(drawn_count(0, draws), 0);
  EXPECT_EQ(drawn_count(7, draws), 7);
}

// Of a text of words that each occur once, by source and target alone: a mask becomes what stands
// between its neighbours in the target, and of several in a row the first takes it all.
Ids undone(const Ids& source, const Ids& target, bool deleted) {
  Ids made;
  size_t next = 0;  // in the target
  const auto take = [&](size_t end) {
    for (; next < end; ++next) made.push_back(target[next]);
  };
  bool masked = false;
  for (const int32_t id : source) {
    if (id == NoiseWords::kHidden) {
      masked = true;
      continue;
    }
    const auto at = static_cast<size_t>(std::ranges::find(target, id) - target.begin());
    if (at < next) return {};
    EXPECT_TRUE(masked || deleted || at == next) << "nothing is lost without a mask";
    take(at + 1);
    masked = false;
  }
  EXPECT_TRUE(masked || deleted || next == target.size());
  take(target.size());
  return made;
}

TEST(TextNoise, DeletionAndInfillingCanBeUndoneFromTheTarget) {
  const Ids text = short_words(80);
  for (const double deleted : {0.0, 0.2}) {
    NoiseConfig config = no_noise();
    config.infill = 0.3;
    config.remove = deleted;
    for (uint64_t stream = 0; stream < 200; ++stream) {
      const NoisedText made = noised(text, config, stream);
      expect_origins(text, made);
      EXPECT_EQ(undone(made.tokens, text, deleted > 0), text);
      EXPECT_LT(made.tokens.size(), text.size());
    }
  }
}

TEST(TextNoise, HidesWordsWholeAndNothingBesideThem) {
  Ids text = long_words(30);
  text[20] = NoiseWords::kUnknown;  // a word as others
  const Ids ends{9, 10, 31};
  for (const int32_t at : ends) text[static_cast<size_t>(at)] = NoiseWords::kEnd;
  NoiseConfig config = no_noise();
  for (const double rate : {0.3, 1.0}) {
    config.infill = rate;
    for (uint64_t stream = 0; stream < 300; ++stream) {
      const NoisedText made = noised(text, config, stream);
      expect_origins(text, made);
      std::vector<bool> shown(text.size(), false);
      for (const int32_t origin : made.origins)
        if (origin >= 0) shown[static_cast<size_t>(origin)] = true;
      for (const int32_t at : ends) EXPECT_TRUE(shown[static_cast<size_t>(at)]);
      for (size_t i = 1; i < made.tokens.size(); ++i)
        if (made.origins[i] >= 0 && made.origins[i - 1] >= 0) {
          EXPECT_EQ(made.origins[i], made.origins[i - 1] + 1)
              << "a mask stands for what is missing";
        }
      for (size_t i = 1; i < text.size(); ++i)
        if (text[i] % 2 == 1 && text[i - 1] > 4) {
          EXPECT_EQ(shown[i], shown[i - 1]) << i;
        }
      if (rate < 1) continue;
      for (const int32_t id : made.tokens)
        EXPECT_TRUE(id == NoiseWords::kHidden || id == NoiseWords::kEnd) << id;
    }
  }
  EXPECT_GE(masks_in(noised(text, config, 1)), 3) << "a span goes on behind what stays";
}

TEST(TextNoise, ASentenceBeginsAWordWhereverItStands) {
  const Ids text{6, 7, 9, 11}, sentences{0, 2};  // 9 would go on with a word
  NoiseConfig config = no_noise();
  config.infill = 0.5;
  config.permute = 1;
  for (uint64_t stream = 0; stream < 100; ++stream) {
    Ids shown = noised(text, config, stream, sentences).tokens;
    std::erase(shown, NoiseWords::kHidden);
    EXPECT_TRUE(shown == Ids({6, 7}) || shown == Ids({9, 11}));
  }
}

TEST(TextNoise, AllTogetherLoseNothingAndDependOnTheirKeyAlone) {
  const Ids text = long_words(60), sentences{0, 20, 45, 80};
  NoiseConfig config;
  config.mask = config.remove = 0.1;
  config.rotate = 1;
  const NoisedText first = noised(text, config, 5, sentences);
  expect_origins(text, first);
  EXPECT_EQ(first.tokens, noised(text, config, 5, sentences).tokens);
  EXPECT_NE(first.tokens, noised(text, config, 6, sentences).tokens);
  EXPECT_TRUE(noised({}, config, 1).tokens.empty());
  EXPECT_EQ(noised(long_words(8), config, 5, {0, 6}).tokens,
            Ids({8, 9, 3, 11, 11, 12, 14, 3, 17, 3, 6}))
      << "a run that goes on by another version must get the same noise";
}

}  // namespace
}  // namespace skein::data
