// Where a run's samples come from.
#pragma once

#include "skein/data/samples/batch.h"

namespace skein::data {

class SampleSource {
 public:
  virtual ~SampleSource() = default;
  // Samples [first, first + count) of the stream as one batch: a pure function of the options and
  // of these numbers, so that every rank that needs it makes the same one. From any thread.
  virtual Batch batch(int64_t first, int64_t count) const = 0;
  // Whole samples in one pass over the data.
  virtual int64_t samples_per_epoch() const = 0;
};

// Samples that are made one by one.
class RowSource : public SampleSource {
 public:
  Batch batch(int64_t first, int64_t count) const final;

 private:
  // What batch() fills in.
  virtual Batch empty_batch(int64_t count) const = 0;
  // Makes sample `index` the row `row`, but for its sample_ids.
  virtual void fill(const Batch& batch, int64_t row, int64_t index) const = 0;
};

}  // namespace skein::data
