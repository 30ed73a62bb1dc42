#include "skein/nn/kv_cache.h"

namespace skein {
namespace {

void copy_rows(const Tensor& from, const Tensor& into, int64_t first) {
  const int64_t row = from.size() / (from.dim(0) * from.dim(1));
  for (int64_t b = 0; b < from.dim(0); ++b)
    into.flat((b * into.dim(1) + first) * row, from.dim(1) * row).copy_from(from.rows(b, b + 1));
}

}  // namespace

void KvCache::append(int layer, const Tensor& k, const Tensor& v) {
  Layer& held = layers.at(static_cast<size_t>(layer));
  SKEIN_CHECK(length + k.dim(1) <= held.keys.dim(1));
  copy_rows(k, held.keys, length);
  copy_rows(v, held.values, length);
}

}  // namespace skein
