// Answers to prompts that were compared or graded, as batches: a sample is one prompt with its K
// answers.
//
// A row of tokens holds the K sequences (prompt and answer each) one after the other, attention and
// positions apart, so that each answer goes through the model once. batch.places [B,K] names the
// token of each where its score is read, -1 where there are fewer answers; batch.weights [B,1] is 1
// a sample; batch.known [B,K,3] is what is known of each answer: see KnownColumn.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/data/samples/label_form.h"
#include "skein/data/samples/order.h"
#include "skein/data/samples/source.h"

namespace skein::data {

// What the values of a prompt's answers say. none: nothing, or that there is no such answer.
enum class PreferenceKind { none, ranked, best, scored };

// Columns of batch.known: a PreferenceKind, alike for all answers of a sample; the value (ranked:
// higher is better, equal ones are not told apart; best: 1 for the best, else 0; scored: the
// score); the grade, whose differences are the margins of pairs.
enum KnownColumn { kKnownKind, kKnownValue, kKnownGrade, kKnownColumns };

struct PreferenceSample {
  PreferenceKind kind = PreferenceKind::none;
  std::vector<FormedSample> sequences;  // with one place each, where the score is read
  std::vector<float> values, grades;    // of each
};

struct PreferenceBatchShape {
  int64_t length = 0;   // tokens of a row, padding included
  int64_t answers = 1;  // of the sample that has the most
  int32_t pad = 0;
  bool types = false;
};

// The least shape that all samples fit, its length a multiple of `multiple`.
PreferenceBatchShape shape_of(const std::vector<PreferenceSample>& samples, int64_t multiple,
                              int32_t pad, bool types);

class PreferenceSamples : public RowSource {
 public:
  // shuffle: each epoch in another order of `seed`; else sample i is i. At least one sample, each
  // of which fits.
  PreferenceSamples(std::vector<PreferenceSample> samples, const PreferenceBatchShape& shape,
                    uint64_t seed, bool shuffle);

  int64_t samples_per_epoch() const override { return std::ssize(samples_); }
  const PreferenceBatchShape& shape() const { return shape_; }
  // In the order they were given.
  const std::vector<PreferenceSample>& all() const { return samples_; }
  // Of all tokens and all that is known: what the samples are.
  uint32_t checksum() const;

 private:
  Batch empty_batch(int64_t count) const override;
  void fill(const Batch& batch, int64_t row, int64_t index) const override;

  std::vector<PreferenceSample> samples_;
  PreferenceBatchShape shape_;
  SampleOrder order_;
};

}  // namespace skein::data
