// Samples as rows of a batch, and the windows in which a store is evaluated.
#pragma once

#include <cstdint>

#include "skein/data/samples/batch.h"
#include "skein/data/samples/loader.h"
#include "skein/data/stores/store.h"

namespace skein::data {

// A batch of [count, length] with memory; segments only where attention stays inside documents.
Batch empty_batch(int64_t count, int64_t length, const DataConfig& config);

// Row `row` of the batch from the length + 1 tokens that begin at `begin`. Positions past the
// store's end are token 0 and do not count.
void fill_row(const TokenStore& store, int64_t begin, const DataConfig& config, const Batch& batch,
              int64_t row);

// A store cut into windows of `length` tokens that begin `stride` apart, such that every token but
// the first is scored in exactly one window, with at least length - stride tokens of context before
// it where the store has them.
class EvalWindows {
 public:
  // prefix: a window's tokens up to the first that predicts what is scored are its prefix. A usage
  // error when the store holds fewer than 2 tokens or stride is outside [1, length].
  EvalWindows(const TokenStore& store, int64_t length, int64_t stride, const DataConfig& config,
              bool prefix = false);
  int64_t count() const { return count_; }
  // Windows first, first + step, ... (`rows` of them) as one batch; weights are 0 outside of what a
  // window scores.
  Batch batch(int64_t first, int64_t rows, int64_t step) const;

 private:
  const TokenStore& store_;
  int64_t length_, stride_, count_;
  DataConfig config_;
  bool prefix_;
};

}  // namespace skein::data
