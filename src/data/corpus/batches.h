// Pieces of a corpus in batches that are worth handing to a thread.
#pragma once

#include <cstddef>
#include <vector>

#include "skein/core/clock.h"
#include "skein/data/corpus/corpus.h"
#include "skein/data/files/progress.h"

namespace skein::data {

constexpr size_t kBatchBytes = size_t{1} << 20;

using PieceBatch = std::vector<CorpusPiece>;

// Fills `batch` with the next pieces, about 1 MiB of them or one that is larger; false at the end.
bool read_batch(CorpusReader& reader, PieceBatch& batch);

// Tells a caller how far the reading has come.
class ProgressReport {
 public:
  ProgressReport(const CorpusReader& reader, const ProgressCall& call)
      : reader_(reader), call_(call) {}
  void tell(int64_t documents, int64_t tokens) const;
  double seconds() const;

 private:
  const CorpusReader& reader_;
  const ProgressCall& call_;
  double start_ = steady_seconds();
};

}  // namespace skein::data
