// The ids of the words one thread met lately, under the two tokenizers it used last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include <xxhash.h>

#include "skein/core/numbers.h"

namespace skein::text {

class WordCache {
 public:
  static constexpr size_t kLongest = 48;

  // This thread's cache of a tokenizer (known by its serial number, from 1 on), empty unless it is
  // one of the two that were asked for last.
  static WordCache& of(uint64_t tokenizer);
  // A serial number that no tokenizer has had.
  static uint64_t next_serial();

  // Appends the ids of `word`, of at most kLongest bytes; make(word, ids) is asked for those not
  // known yet.
  template <class Make>
  void append(std::string_view word, std::vector<int32_t>& out, Make&& make) {
    const uint64_t hash = XXH3_64bits(word.data(), word.size());
    const uint32_t tag = hash >> 32;
    size_t at = hash & (kSlots - 1);
    for (; slots_[at].bytes > 0; at = (at + 1) & (kSlots - 1))
      if (slots_[at].tag == tag && key(slots_[at]) == word) break;
    if (slots_[at].bytes == 0) {
      if (used_ == kMost) {
        clear();
        return append(word, out, make);
      }
      fill(slots_[at], tag, word, make);
    }
    const Slot& slot = slots_[at];
    out.insert(out.end(), ids_.begin() + slot.ids, ids_.begin() + slot.ids + slot.count);
  }

 private:
  static constexpr size_t kSlots = size_t{1} << 16, kMost = kSlots / 4 * 3;
  struct Slot {
    uint32_t tag = 0, key = 0, ids = 0;
    uint16_t bytes = 0, count = 0;  // no bytes: free
  };

  std::string_view key(const Slot& slot) const { return {keys_.data() + slot.key, slot.bytes}; }

  template <class Make>
  void fill(Slot& slot, uint32_t tag, std::string_view word, Make&& make) {
    made_.clear();
    make(word, made_);
    slot = {tag, narrow<uint32_t>(keys_.size()), narrow<uint32_t>(ids_.size()),
            narrow<uint16_t>(word.size()), narrow<uint16_t>(made_.size())};
    keys_.append(word);
    ids_.insert(ids_.end(), made_.begin(), made_.end());
    ++used_;
  }

  void clear();

  uint64_t owner_ = 0;
  size_t used_ = 0;
  std::vector<Slot> slots_;
  std::string keys_;
  std::vector<int32_t> ids_, made_;
};

}  // namespace skein::text
