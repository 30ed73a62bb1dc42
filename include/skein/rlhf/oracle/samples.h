// Texts of an enumerable language, drawn from its chain: pure functions of a seed and a number, so
// that every rank draws the same ones.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/data/samples/source.h"
#include "skein/rlhf/oracle/language.h"

namespace skein::rlhf::oracle {

// An index below weights.size(), as often as its weight says; what has weight 0 is never drawn.
class WeightedDraw {
 public:
  // At least one weight above 0, none below.
  explicit WeightedDraw(const std::vector<double>& weights);
  // uniform in [0, 1).
  int64_t at(double uniform) const;

 private:
  std::vector<double> below_;  // sums of the weights up to and with each
  int64_t last_ = 0;           // the last one with a weight
};

class OracleDraws {
 public:
  OracleDraws(const OracleLanguage& language, uint64_t seed);

  // The k-th prompt of the run, an index into OracleLanguage::prompts; for tuning.
  int64_t prompt(int64_t k) const;
  // The index-th text: a prompt (not prompt(index)), the separator and a response with its end, or
  // T symbols.
  std::vector<int32_t> text(int64_t index) const;

 private:
  OracleLanguage language_;
  uint64_t prompt_key_, text_key_;
  WeightedDraw prompts_;
  std::vector<WeightedDraw> next_;  // after each symbol, then at the beginning where that is given
};

// A text a sample, for pretraining: token t predicts token t + 1, from the text's first token on,
// and all that is predicted counts alike.
// Batches are [count, context]. Behind its text a row is pad and does not count.
class OracleSamples : public data::RowSource {
 public:
  // per_epoch: what counts as one pass, at least 1; the stream itself never repeats.
  OracleSamples(const OracleLanguage& language, uint64_t seed, int64_t per_epoch);

  int64_t samples_per_epoch() const override { return per_epoch_; }
  // Of a sample, padding included.
  int64_t context() const { return context_; }

 private:
  data::Batch empty_batch(int64_t count) const override;
  void fill(const data::Batch& batch, int64_t row, int64_t index) const override;

  OracleDraws draws_;
  int64_t context_, per_epoch_;
  int32_t pad_;
};

// The mean over the tokens that count of the least loss that any model of these texts can reach, in
// nats: the entropy of each given all that stands before, of the prompts by their distribution, of
// responses by the chain.
double least_text_loss(const OracleLanguage& language);

}  // namespace skein::rlhf::oracle
