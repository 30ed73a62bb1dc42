// Where a run's samples come from.
#pragma once

#include "skein/data/samples/batch.h"

namespace skein::data {

// Numbers of `count` samples: runs of `run` neighbours, each of which begins `apart` after the one
// before it began.
struct SampleRange {
  int64_t first = 0, count = 0;
  int64_t run = count, apart = count;

  int64_t operator[](int64_t i) const { return first + i / run * apart + i % run; }
  SampleRange shifted(int64_t by) const { return {first + by, count, run, apart}; }
};

class SampleSource {
 public:
  virtual ~SampleSource() = default;
  // Samples of the stream as one batch, in the order of their numbers: a pure function of the
  // options and of these numbers, so that every rank that needs it makes the same one. From any
  // thread; on up to `threads` of its own where samples take long.
  Batch batch(const SampleRange& range, int threads = 1) const;
  // Samples [first, first + count).
  Batch batch(int64_t first, int64_t count) const { return batch(SampleRange{first, count}); }
  // Whole samples in one pass over the data.
  virtual int64_t samples_per_epoch() const = 0;

 private:
  virtual Batch make_batch(const SampleRange& range, int threads) const = 0;
};

// Samples that are made one by one.
class RowSource : public SampleSource {
 private:
  Batch make_batch(const SampleRange& range, int threads) const final;
  // What batch() fills in.
  virtual Batch empty_batch(int64_t count) const = 0;
  // Makes sample `index` the row `row`, but for its sample_ids.
  virtual void fill(const Batch& batch, int64_t row, int64_t index) const = 0;
  // Whether a sample takes so long that several threads should each make some.
  virtual bool takes_long() const { return false; }
};

}  // namespace skein::data
