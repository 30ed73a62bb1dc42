// Answers become batches whose every number stands where its token is predicted.
#include "skein/rlhf/policy/episodes.h"

#include <gtest/gtest.h>

#include "skein/rlhf/policy/objective.h"

namespace skein::rlhf::policy {
namespace {

Episode episode(std::vector<int32_t> prompt, std::vector<int32_t> answer, bool counted = true) {
  Episode made;
  made.prompt.tokens = std::move(prompt);
  made.tokens = std::move(answer);
  made.path.counted = counted;
  for (size_t i = 0; i < made.tokens.size(); ++i) {
    const double at = static_cast<double>(i);
    made.path.logp.push_back(-1 - at);
    made.path.ref_logp.push_back(-2 - at);
    made.path.advantages.push_back(3 + at);
    made.path.returns.push_back(4 + at);
    made.path.values.push_back(5 + at);
  }
  return made;
}

template <class T>
std::vector<T> row(const Tensor& tensor, int64_t at) {
  const int64_t size = tensor.size() / tensor.dim(0);
  return {tensor.data<T>() + at * size, tensor.data<T>() + (at + 1) * size};
}

std::vector<float> column(const data::Batch& batch, int64_t at, known::Column column) {
  const std::vector<float> all = row<float>(batch.known, at);
  std::vector<float> made;
  for (size_t i = column; i < all.size(); i += known::columns) made.push_back(all[i]);
  return made;
}

using Ids = std::vector<int32_t>;
using Numbers = std::vector<float>;

TEST(EpisodeSamples, PredictEachTokenWhereTheOneBeforeItStands) {
  const std::vector<Episode> episodes{episode({7, 8, 9}, {4, 5}), episode({6}, {3, 2, 1})};
  const data::Batch batch = EpisodeSamples(episodes, 6, 3).batch(0, 2);
  EXPECT_EQ(row<int32_t>(batch.tokens, 0), (Ids{7, 8, 9, 4, 0, 0}))
      << "the last token of an answer is not fed";
  EXPECT_EQ(row<int32_t>(batch.tokens, 1), (Ids{6, 3, 2, 0, 0, 0}));
  EXPECT_EQ(row<int32_t>(batch.positions, 1), (Ids{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(row<int32_t>(batch.places, 0), (Ids{2, 3, -1}));
  EXPECT_EQ(row<int32_t>(batch.places, 1), (Ids{0, 1, 2}));
  EXPECT_EQ(row<int32_t>(batch.targets, 0), (Ids{4, 5, 0}));
  EXPECT_EQ(row<int32_t>(batch.targets, 1), (Ids{3, 2, 1}));
  EXPECT_EQ(row<float>(batch.weights, 0), (Numbers{1, 1, 0}));
  EXPECT_EQ(row<float>(batch.weights, 1), (Numbers{1, 1, 1}));
  EXPECT_EQ(column(batch, 0, known::old_logp), (Numbers{-1, -2, 0}));
  EXPECT_EQ(column(batch, 0, known::ref_logp), (Numbers{-2, -3, 0}));
  EXPECT_EQ(column(batch, 0, known::advantage), (Numbers{3, 4, 0}));
  EXPECT_EQ(column(batch, 0, known::return_to_go), (Numbers{4, 5, 0}));
  EXPECT_EQ(column(batch, 0, known::old_value), (Numbers{5, 6, 0}));
}

// Rows are filled up by length, not by an id: an answer may hold the id they are filled with.
TEST(EpisodeSamples, CountTokensWhateverTheirIdsAre) {
  const std::vector<Episode> episodes{episode({0}, {0, 0})};
  const data::Batch batch = EpisodeSamples(episodes, 4, 3).batch(0, 1);
  EXPECT_EQ(row<float>(batch.weights, 0), (Numbers{1, 1, 0}));
}

TEST(EpisodeSamples, ComeInTheirOrder) {
  const std::vector<Episode> episodes{episode({1}, {1}), episode({2}, {2}), episode({3}, {3})};
  EpisodeSamples samples(episodes, 2, 1);
  samples.set_order({2, 0, 1});
  const data::Batch batch = samples.batch(1, 2);
  EXPECT_EQ(row<int32_t>(batch.targets, 0), Ids{1});
  EXPECT_EQ(row<int32_t>(batch.targets, 1), Ids{2});
  EXPECT_EQ(samples.samples_per_epoch(), 3);
}

// What the step makes of it: the sum over the tokens that count, divided by their number.
double share_of(const data::Batch& batch, int64_t at) {
  double sum = 0, counted = 0;
  for (float weight : batch.weights.span<float>()) counted += weight;
  const std::vector<float> weights = row<float>(batch.weights, at),
                           factors = column(batch, at, known::factor);
  for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * factors[i];
  return sum / counted;
}

// Minibatches of two answers: of 1 and 3 tokens, and of 2 tokens and one that does not count.
class Aggregations : public ::testing::Test {
 protected:
  data::Batch minibatch(Aggregation aggregation, int64_t number) {
    EpisodeSamples samples(episodes_, 8, 4);
    samples.set_aggregation(aggregation, 2, 5);
    return samples.batch(number * 2, 2);
  }

  std::vector<Episode> episodes_{episode({1}, {1}), episode({1}, {1, 2, 3}), episode({1}, {1, 2}),
                                 episode({1}, {1, 2, 3, 4}, false)};
};

TEST_F(Aggregations, CountTokensAlike) {
  const data::Batch batch = minibatch(Aggregation::token_mean, 0);
  EXPECT_DOUBLE_EQ(share_of(batch, 0), 0.25);
  EXPECT_DOUBLE_EQ(share_of(batch, 1), 0.75);
}

TEST_F(Aggregations, CountAnswersAlike) {
  const data::Batch batch = minibatch(Aggregation::sequence_mean, 0),
                    masked = minibatch(Aggregation::sequence_mean, 1);
  EXPECT_NEAR(share_of(batch, 0), 0.5, 1e-7);
  EXPECT_NEAR(share_of(batch, 1), 0.5, 1e-7);
  EXPECT_NEAR(share_of(masked, 0), 1, 1e-7) << "the only one that counts";
  EXPECT_EQ(share_of(masked, 1), 0);
}

TEST_F(Aggregations, DivideByAConstantLength) {
  const data::Batch batch = minibatch(Aggregation::constant, 0),
                    masked = minibatch(Aggregation::constant, 1);
  EXPECT_NEAR(share_of(batch, 0), 1.0 / 10, 1e-7);
  EXPECT_NEAR(share_of(batch, 1), 3.0 / 10, 1e-7);
  EXPECT_NEAR(share_of(masked, 0), 2.0 / 5, 1e-7);
}

TEST(EpisodeRows, AreAsLongAsTheLongestWithinTheContext) {
  const std::vector<Episode> episodes{episode({1, 2, 3}, {4, 5}),
                                      episode({1}, {2, 3, 4, 5, 6, 7, 8, 9, 1})};
  EXPECT_EQ(longest_answer(episodes), 9);
  EXPECT_EQ(longest_row(episodes, 64, 8), 16) << "9 tokens are fed";
  EXPECT_EQ(longest_row(episodes, 12, 8), 12);
  ParallelConfig parallel;
  EXPECT_EQ(row_multiple(parallel), 8);
  parallel.tensor = 3;
  EXPECT_EQ(row_multiple(parallel), 8);
  parallel.sequence = true;
  EXPECT_EQ(row_multiple(parallel), 24);
}

}  // namespace
}  // namespace skein::rlhf::policy
