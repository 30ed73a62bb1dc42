#include "skein/data/samples/windows.h"

#include <algorithm>
#include <span>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/data/samples/prefix.h"

namespace skein::data {
namespace {

void fill_tokens(const TokenStore& store, int64_t begin, const Batch& batch, int64_t row) {
  const int64_t length = batch.length();
  std::vector<int32_t> window(length + 1, 0);
  const int64_t held = std::min(length + 1, store.info().tokens - begin);
  store.read(begin, std::span(window).first(held));
  std::copy_n(window.begin(), length, row_of<int32_t>(batch.tokens, row));
  std::copy_n(window.begin() + 1, length, row_of<int32_t>(batch.targets, row));
}

// Asks the store where documents begin only if something hangs on it: it may have to read all
// tokens to know.
void fill_marks(const TokenStore& store, int64_t begin, const DataConfig& config,
                const Batch& batch, int64_t row) {
  const bool by_document = !config.cross_document_attention || config.mask_document_ends;
  const std::span<const uint64_t> starts =
      by_document ? store.documents() : std::span<const uint64_t>();
  const int64_t length = batch.length(), first = by_document ? store.document_at(begin) : 0;
  float* weights = row_of<float>(batch.weights, row);
  int32_t* positions = row_of<int32_t>(batch.positions, row);
  int32_t* segments = batch.segments.defined() ? row_of<int32_t>(batch.segments, row) : nullptr;
  const uint64_t tokens = store.info().tokens;
  int64_t document = first, origin = 0;
  const auto begins = [&](uint64_t token) {
    return by_document && token < tokens && starts[document + 1] == token;
  };
  for (int64_t t = 0; t < length; ++t) {
    const uint64_t token = begin + t;
    if (begins(token)) {
      ++document;
      if (!config.cross_document_attention) origin = t;
    }
    const bool masked = config.mask_document_ends && begins(token + 1);
    weights[t] = token + 1 >= tokens || masked ? 0.0f : 1.0f;
    positions[t] = narrow<int32_t>(t - origin);
    if (segments) segments[t] = narrow<int32_t>(document - first);
  }
}

}  // namespace

Batch empty_batch(int64_t count, int64_t length, const DataConfig& config) {
  Batch batch;
  batch.tokens = Tensor::empty({count, length}, DType::i32);
  batch.targets = Tensor::empty({count, length}, DType::i32);
  batch.weights = Tensor::empty({count, length}, DType::f32);
  batch.positions = Tensor::empty({count, length}, DType::i32);
  if (!config.cross_document_attention) batch.segments = Tensor::empty({count, length}, DType::i32);
  batch.sample_ids = Tensor::empty({count}, DType::i64);
  return batch;
}

void fill_row(const TokenStore& store, int64_t begin, const DataConfig& config, const Batch& batch,
              int64_t row) {
  fill_tokens(store, begin, batch, row);
  fill_marks(store, begin, config, batch, row);
}

EvalWindows::EvalWindows(const TokenStore& store, int64_t length, int64_t stride,
                         const DataConfig& config, bool prefix)
    : store_(store), length_(length), stride_(stride), config_(config), prefix_(prefix) {
  require(stride >= 1 && stride <= length,
          "a stride of {} tokens is outside of 1 to the context of {}", stride, length);
  require(store.info().tokens >= 2, "{} holds {} tokens; evaluation needs at least 2", store.path(),
          store.info().tokens);
  count_ = (store.info().tokens - 2) / stride + 1;
}

Batch EvalWindows::batch(int64_t first, int64_t rows, int64_t step) const {
  Batch made = empty_batch(rows, length_, config_);
  if (prefix_) made.prefix = Tensor::empty({rows}, DType::i32);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t window = first + row * step, scored = window * stride_;
    const int64_t begin = std::max<int64_t>(0, scored + stride_ - length_);
    fill_row(store_, begin, config_, made, row);
    float* weights = row_of<float>(made.weights, row);
    std::fill(weights, weights + (scored - begin), 0.0f);
    std::fill(weights + std::min(length_, scored - begin + stride_), weights + length_, 0.0f);
    if (prefix_) set_prefix(made, row, scored - begin + 1);
    made.sample_ids.data<int64_t>()[row] = window;
  }
  return made;
}

}  // namespace skein::data
