// A hash map from a pair of ids (not negative) to an int32, by linear probing: lookups of a pair
// that is not there are the common case of BPE, and end at the first free slot.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace skein::text {

constexpr uint64_t pair_key(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

class PairMap {
 public:
  PairMap() : slots_(64) {}

  // The value of `key`, or -1.
  int32_t find(uint64_t key) const {
    const Slot& slot = slots_[index_of(key)];
    return slot.key == key ? slot.value : -1;
  }

  // Gives `key` this value unless it has one already; the value it has then, and whether it is new.
  std::pair<int32_t, bool> insert(uint64_t key, int32_t value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[index_of(key)];
    if (slot.key == key) return {slot.value, false};
    slot = {key, value};
    ++size_;
    return {value, true};
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    int32_t value = -1;
  };

  size_t index_of(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = ((key ^ key >> 29) * 0x9E3779B97F4A7C15u) >> 32 & mask;
    while (slots_[at].key != key && slots_[at].key != kFree) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key != kFree) slots_[index_of(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace skein::text
