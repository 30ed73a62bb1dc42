#include "word_cache.h"

#include <atomic>

namespace skein::text {

WordCache& WordCache::of(uint64_t tokenizer) {
  thread_local WordCache cache;
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
