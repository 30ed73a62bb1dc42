// Pairs of answers to a prompt, of which one is better, as batches: a sample is one pair, or one
// answer that was judged alone.
//
// A row of tokens holds the prompt with the chosen answer and then the prompt with the rejected
// one, attention and positions apart. batch.places are those before each token of both answers,
// ends included; batch.weights is 1 there, batch.targets their tokens, and batch.known [B,P,2] is
// what is known of each: see known_pair.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/data/samples/order.h"
#include "skein/data/samples/source.h"
#include "skein/rlhf/dpo/losses.h"
#include "skein/rlhf/rewards/answer_form.h"

namespace skein::rlhf::dpo {

// Columns of Batch::known.
namespace known_pair {
enum Column : int64_t {
  side,      // 0: of the chosen answer, 1: of the rejected one
  ref_logp,  // log-probability of the token under the reference
  columns
};
}  // namespace known_pair

struct AnswerPairs {
  static constexpr size_t none = SIZE_MAX;
  struct Pair {
    size_t chosen = 0, rejected = 0;  // indices into answers; of an answer alone the other is none
  };
  std::vector<rewards::AnswerSequence> answers;
  std::vector<Pair> pairs;
};

class DpoSamples : public data::RowSource {
 public:
  // multiple: the rows' length is one of it. shuffle: each epoch in another order of `seed`; else
  // sample i is pair i. At least one pair. A usage error for more pairs than their reference can be
  // remembered of.
  DpoSamples(AnswerPairs pairs, int64_t multiple, int32_t pad, uint64_t seed, bool shuffle);

  int64_t samples_per_epoch() const override { return std::ssize(pairs_.pairs); }
  // Of a row: tokens, padding included, and places.
  int64_t length() const { return length_; }
  int64_t places() const { return places_; }
  // Gives all tokens their log-probabilities under the reference, which are 0 before: logps
  // [samples_per_epoch, places, n], of samples 0 on, as the first of n numbers.
  void remember(const Tensor& logps);
  // Of the answers of a pair, under the reference, sums over tokens; the policy's are 0.
  PairLogp reference(int64_t pair) const;
  // Of all tokens of sample i, the sum of logps [places] less what the reference holds of them, in
  // order.
  double log_ratio(int64_t sample, const float* logps) const;
  // Of samples [first, first + count): those with a chosen answer.
  int64_t chosen_among(int64_t first, int64_t count) const;
  // Mean of a token of an answer under the reference.
  double mean_reference() const;
  // Of all tokens: what the pairs are.
  uint32_t checksum() const;

 private:
  // What of a row is filled.
  struct RowFill {
    int64_t tokens = 0, places = 0;
  };
  data::Batch empty_batch(int64_t count) const override;
  void fill(const data::Batch& batch, int64_t row, int64_t index) const override;
  void fill_answer(const data::Batch& batch, int64_t row, const rewards::AnswerSequence& answer,
                   int64_t side, RowFill& filled) const;
  int64_t pair_of(int64_t sample) const { return order_.at(sample).sample; }
  // Null where there is no such answer.
  const rewards::AnswerSequence* answer(size_t index) const {
    return index == AnswerPairs::none ? nullptr : &pairs_.answers[index];
  }
  const rewards::AnswerSequence* chosen(int64_t pair) const {
    return answer(pairs_.pairs[pair].chosen);
  }
  const rewards::AnswerSequence* rejected(int64_t pair) const {
    return answer(pairs_.pairs[pair].rejected);
  }
  const float* reference_of(int64_t pair) const { return reference_.data() + pair * places_; }

  AnswerPairs pairs_;
  int64_t length_ = 0, places_ = 0;
  int32_t pad_;
  data::SampleOrder order_;
  std::vector<float> reference_;  // [pairs, places]
};

}  // namespace skein::rlhf::dpo
