#include "word_cache.h"

#include <atomic>

namespace skein::text {

WordCache& WordCache::of(uint64_t tokenizer) {
  // Two, since pairs of texts may have a tokenizer each.
  thread_local WordCache caches[2];
  thread_local size_t last = 0;
  if (caches[last].owner_ == tokenizer) return caches[last];
  last = 1 - last;
  WordCache& cache = caches[last];
  if (cache.owner_ != tokenizer) cache.clear();
  cache.owner_ = tokenizer;
  return cache;
}

uint64_t WordCache::next_serial() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

void WordCache::clear() {
  slots_.assign(kSlots, Slot());
  keys_.clear();
  ids_.clear();
  used_ = 0;
}

}  // namespace skein::text
