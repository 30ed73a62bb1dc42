#include "skein/data/samples/masking.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

// Ids 0 to 4 are special; of the others the odd ones go on with a word.
class MaskWords : public text::Tokenizer {
 public:
  int64_t vocab_size() const override { return 100; }
  int32_t end_of_text() const override { return 2; }
  std::vector<int32_t> encode(std::string_view) const override { return {}; }
  text::TokenRoles roles() const override {
    return {.pad = 0, .unk = 4, .cls = 1, .sep = 2, .mask = 3};
  }
  std::string_view bytes_of(int32_t id) const override {
    return id < 5 ? "" : id % 2 == 0 ? " a" : "b";
  }
  std::string to_json() const override { return "{}"; }
};

const MaskVocabulary& vocabulary() {
  static const MaskVocabulary made(MaskWords(), "a test");
  return made;
}

// [CLS] words of three tokens [SEP] words [SEP]
std::vector<int32_t> sample(int64_t words = 20) {
  std::vector<int32_t> ids{1};
  for (int64_t i = 0; i < words; ++i) {
    const auto word = static_cast<int32_t>(6 + i % 20 * 4);
    for (int32_t id : {word, word + 1, word + 3}) ids.push_back(id);
    if (i == words / 2) ids.push_back(2);
  }
  ids.push_back(2);
  return ids;
}

TEST(Masking, HidesTheAskedPartAndRemembersWhatItWas) {
  const std::vector<int32_t> before = sample();
  std::vector<int32_t> ids = before;
  const MaskedTokens masked = mask_tokens(ids, vocabulary(), {}, 100, Draws(1, 2));
  EXPECT_EQ(masked.places.size(), 9u);  // 15% of 60
  EXPECT_TRUE(std::is_sorted(masked.places.begin(), masked.places.end()));
  std::set<int32_t> places(masked.places.begin(), masked.places.end());
  EXPECT_EQ(places.size(), masked.places.size());
  for (size_t i = 0; i < masked.places.size(); ++i)
    EXPECT_EQ(masked.targets[i], before[static_cast<size_t>(masked.places[i])]);
  for (size_t i = 0; i < ids.size(); ++i)
    if (!places.contains(static_cast<int32_t>(i))) {
      EXPECT_EQ(ids[i], before[i]);
    }
  for (int32_t target : masked.targets) EXPECT_GE(target, 5);
}

TEST(Masking, IsAFunctionOfItsKey) {
  std::vector<int32_t> first = sample(), second = sample(), other = sample();
  mask_tokens(first, vocabulary(), {}, 100, Draws(1, 2));
  mask_tokens(second, vocabulary(), {}, 100, Draws(1, 2));
  mask_tokens(other, vocabulary(), {}, 100, Draws(1, 3));
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
}

TEST(Masking, SharesOfMaskRandomAndUnchanged) {
  int64_t all = 0, masked_tokens = 0, kept = 0;
  std::map<int64_t, int64_t> by_place;
  for (uint64_t stream = 0; stream < 2000; ++stream) {
    std::vector<int32_t> ids = sample();
    const MaskedTokens masked = mask_tokens(ids, vocabulary(), {}, 100, Draws(9, stream));
    for (size_t i = 0; i < masked.places.size(); ++i) {
      const int32_t now = ids[static_cast<size_t>(masked.places[i])];
      ++all;
      masked_tokens += now == 3;
      kept += now == masked.targets[i];
      EXPECT_TRUE(now == 3 || now >= 5);
      ++by_place[masked.places[i]];
    }
  }
  const auto share = [&](int64_t part) {
    return static_cast<double>(part) / static_cast<double>(all);
  };
  EXPECT_NEAR(share(masked_tokens), 0.8, 0.01);
  EXPECT_NEAR(share(kept), 0.1 + 0.1 / 95, 0.01);
  EXPECT_EQ(by_place.size(), 60u);  // every ordinary place, and no special one
  for (const auto& [place, count] : by_place)
    EXPECT_NEAR(static_cast<double>(count), 2000 * 0.15, 90) << place;
}

TEST(Masking, WordsAreHiddenWhole) {
  MaskConfig config;
  config.unit = MaskUnit::word;
  const std::vector<int32_t> before = sample();
  for (uint64_t stream = 0; stream < 50; ++stream) {
    std::vector<int32_t> ids = before;
    const MaskedTokens masked = mask_tokens(ids, vocabulary(), config, 100, Draws(3, stream));
    ASSERT_EQ(masked.places.size(), 9u);
    for (size_t i = 0; i < 9; i += 3) {
      EXPECT_EQ(masked.targets[i] % 2, 0);
      EXPECT_EQ(masked.places[i + 2], masked.places[i] + 2);
    }
  }
}

TEST(Masking, SpansAreRunsOfWordsWithOneFate) {
  MaskConfig config;
  config.unit = MaskUnit::span;
  config.rate = 0.5;
  config.masked = 0.5;
  config.random = 0;
  int64_t longest = 0;
  for (uint64_t stream = 0; stream < 100; ++stream) {
    const std::vector<int32_t> before = sample(40);
    std::vector<int32_t> ids = before;
    const MaskedTokens masked = mask_tokens(ids, vocabulary(), config, 100, Draws(3, stream));
    EXPECT_LE(masked.places.size(), 60u);
    EXPECT_GE(masked.places.size(), 45u);
    int64_t run = 1;
    for (size_t i = 1; i < masked.places.size(); ++i) {
      run = masked.places[i] == masked.places[i - 1] + 1 ? run + 1 : 1;
      longest = std::max(longest, run);
      const bool same_word = masked.targets[i] % 2 == 1;
      if (same_word) {
        EXPECT_EQ(ids[static_cast<size_t>(masked.places[i])] == 3,
                  ids[static_cast<size_t>(masked.places[i - 1])] == 3);
      }
    }
  }
  EXPECT_GT(longest, 9);
}

TEST(Masking, AtLeastOneAtMostTheLimitAndNothingOfNothing) {
  std::vector<int32_t> one{1, 6, 2}, many = sample(), none{1, 2, 2};
  EXPECT_EQ(mask_tokens(one, vocabulary(), {}, 100, Draws(1, 1)).places, std::vector<int32_t>{1});
  EXPECT_EQ(mask_tokens(many, vocabulary(), {}, 4, Draws(1, 1)).places.size(), 4u);
  for (const MaskUnit unit : {MaskUnit::word, MaskUnit::span}) {
    MaskConfig config;
    config.unit = unit;
    std::vector<int32_t> endless{1, 6};  // one word
    endless.resize(41, 7);
    const MaskedTokens masked = mask_tokens(endless, vocabulary(), config, 100, Draws(1, 1));
    ASSERT_EQ(masked.places.size(), 6u);
    EXPECT_EQ(masked.places.back() - masked.places.front(), 5);
  }
  EXPECT_TRUE(mask_tokens(none, vocabulary(), {}, 4, Draws(1, 1)).places.empty());
  EXPECT_EQ(most_places({}, 512), 77);
}

TEST(Masking, RefusesWhatCannotBe) {
  MaskConfig config;
  config.rate = 0;
  test::expect_error(ExitCode::usage, {"mlm.rate is 0"}, [&] { check(config); });
  config = {};
  config.random = 0.3;
  test::expect_error(ExitCode::usage, {"mlm.random=0.3"}, [&] { check(config); });
  test::expect_error(ExitCode::usage, {"books.h5 has no CLS, SEP, MASK, PAD"},
                     [] { MaskVocabulary(*text::byte_tokenizer(), "books.h5"); });
}

}  // namespace
}  // namespace skein::data
