// T5's spans: their numbers, their law, and that the target has what the source lacks.
#include "skein/data/noise/span_noise.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "data/noise/noise_fixtures.h"

namespace skein::data {
namespace {

using test::NoiseWords;
using Ids = std::vector<int32_t>;

NoiseConfig spans_config(double rate = 0.15, double span = 3) {
  NoiseConfig made;
  made.kind = NoiseKind::spans;
  made.rate = rate;
  made.span = span;
  return made;
}

TEST(SpanNoise, FillsTheSourceAsTheReferenceDoes) {
  // By the published arithmetic of T5, which rounds halves to the even number.
  const struct {
    int64_t places;
    double rate, span;
    int64_t tokens, target;
  } known[] = {{512, 0.15, 3, 568, 114},   {128, 0.15, 3, 141, 29}, {64, 0.15, 3, 70, 14},
               {1024, 0.15, 3, 1137, 229}, {512, 0.5, 3, 767, 513}, {512, 0.15, 8, 588, 100},
               {512, 0.5, 32, 991, 513},   {20, 0.15, 3, 21, 5}};
  for (const auto& one : known) {
    const SpanCounts found = longest_spans(one.places, spans_config(one.rate, one.span));
    EXPECT_EQ(found.tokens, one.tokens) << one.places;
    EXPECT_EQ(found.source(), one.places);
    EXPECT_EQ(found.target(), one.target) << one.places;
  }
  EXPECT_EQ(span_counts(30, spans_config()).removed, 4) << "of 4.5";
}

TEST(SpanNoise, HasRoomForTextAndSpansInAnyText) {
  for (const double rate : {0.01, 0.15, 0.5, 0.9})
    for (const double span : {1.0, 3.0, 40.0})
      for (int64_t tokens = 2; tokens < 80; ++tokens) {
        const SpanCounts made = span_counts(tokens, spans_config(rate, span));
        EXPECT_GE(made.spans, 1);
        EXPECT_GE(made.removed, made.spans);
        EXPECT_GE(tokens - made.removed, made.spans);
      }
  for (int64_t places = 8; places < 300; ++places) {
    const NoiseConfig config = spans_config(0.4, 2);
    const int64_t tokens = longest_spans(places, config).tokens;
    EXPECT_LE(span_counts(tokens, config).source(), places);
    EXPECT_GT(span_counts(tokens + 1, config).source(), places);
  }
}

TEST(SpanNoise, AllPartitionsAreAsLikely) {
  std::map<std::vector<int64_t>, double> counted, expected;
  constexpr int kDraws = 10000;
  for (uint64_t stream = 0; stream < kDraws; ++stream) {
    Draws draws(5, stream);
    ++counted[random_parts(6, 3, draws)];
  }
  for (int64_t a = 1; a <= 4; ++a)
    for (int64_t b = 1; a + b <= 5; ++b) expected[{a, b, 6 - a - b}] = kDraws / 10.0;
  int cells = 0;
  EXPECT_LT(test::chi_square(expected, counted, &cells), test::chi_square_limit(10));
  EXPECT_EQ(cells, 10);
  Draws draws(5, 1);
  EXPECT_EQ(random_parts(4, 4, draws), (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(random_parts(4, 1, draws), std::vector<int64_t>{4});
}

// Each sentinel of the source becomes the span behind it in the target.
Ids undone(const NoisedSpans& made) {
  Ids text;
  int32_t sentinel = NoiseWords::kIds - 1;
  for (const int32_t id : made.source) {
    if (id == NoiseWords::kEnd) return text;
    if (id != sentinel) {
      text.push_back(id);
      continue;
    }
    auto at = std::ranges::find(made.target, sentinel);
    EXPECT_NE(at, made.target.end());
    for (--sentinel; ++at != made.target.end() && *at != sentinel && *at != NoiseWords::kEnd;)
      text.push_back(*at);
  }
  return {};
}

TEST(SpanNoise, LeavesSentinelsAndCanBeUndoneFromTheTarget) {
  const NoiseConfig config = spans_config();
  const NoiseVocabulary vocabulary = test::noise_words(config);
  Ids text;
  for (int32_t i = 0; i < 568; ++i) text.push_back(5 + i);
  NoisedSpans first;
  for (uint64_t stream = 0; stream < 100; ++stream) {
    Draws draws(2, stream);
    const NoisedSpans made = noised_spans(text, vocabulary, config, draws);
    ASSERT_EQ(made.source.size(), 512u);
    ASSERT_EQ(made.target.size(), 114u);
    EXPECT_EQ(made.target.front(), NoiseWords::kIds - 1);
    EXPECT_EQ(made.source.end()[-2], NoiseWords::kIds - 28) << "the last span ends the text";
    EXPECT_EQ(undone(made), text);
    if (stream == 0) first = made;
    if (stream > 0) {
      EXPECT_NE(made.source, first.source);
    }
  }
  Draws again(2, 0);
  EXPECT_EQ(noised_spans(text, vocabulary, config, again).source, first.source);
  const NoiseConfig many = spans_config(0.4, 2);
  const Ids words{6, 8, 9, 10, 11, 11, 12, 14, 15, 16, 17, 17, 18, 20, 21};
  Draws kept(2, 0);
  EXPECT_EQ(noised_spans(words, vocabulary, many, kept).target,
            Ids({999, 9, 10, 998, 16, 17, 997, 20, 21, 2}))
      << "a run that goes on by another version must get the same noise";
  Draws draws(1, 1);
  EXPECT_EQ(noised_spans(Ids{6, 8}, vocabulary, config, draws).target, Ids({999, 8, 2}));
}

}  // namespace
}  // namespace skein::data
