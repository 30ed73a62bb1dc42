#include "batches.h"

#include <utility>

#include "skein/core/clock.h"

namespace skein::data {
namespace {

constexpr size_t kMostPieces = size_t{1} << 14;

}  // namespace

bool read_batch(CorpusReader& reader, PieceBatch& batch) {
  batch.clear();
  size_t bytes = 0;
  for (CorpusPiece piece;
       bytes < kBatchBytes && batch.size() < kMostPieces && reader.next(piece);) {
    bytes += piece.text.size();
    batch.push_back(std::move(piece));
    piece = CorpusPiece();
  }
  return !batch.empty();
}

void ProgressReport::tell(int64_t documents, int64_t tokens) const {
  if (call_) call_({reader_.bytes_read(), reader_.bytes_total(), documents, tokens, seconds()});
}

double ProgressReport::seconds() const { return steady_seconds() - start_; }

}  // namespace skein::data
