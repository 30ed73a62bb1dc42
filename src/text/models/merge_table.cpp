#include "merge_table.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/text/models/byte_alphabet.h"

#include "vocabulary.h"

namespace skein::text {
namespace {

constexpr size_t kMostMerges = size_t{1} << 24;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;
constexpr size_t kShortWord = 32;
constexpr int32_t kNoRank = std::numeric_limits<int32_t>::max();

// The symbols of a long word as a list, with its mergeable pairs in a heap. An entry is stale when
// the pair at its index has changed since; it is then dropped on sight.
class LongWord {
 public:
  LongWord(std::vector<int32_t>& ids, const PairMerger& merger)
      : ids_(ids), merger_(merger), next_(ids.size()), previous_(ids.size()) {
    std::iota(next_.begin(), next_.end(), 1);
    next_.back() = -1;
    std::iota(previous_.begin(), previous_.end(), -1);
    for (int32_t i = 0; i + 1 < std::ssize(ids); ++i) offer(i);
  }

  void merge_all() {
    while (!heap_.empty()) {
      const auto [rank, left] = heap_.top();
      heap_.pop();
      if (rank_at(left) == rank) join(left, rank);
    }
    size_t kept = 0;
    for (int32_t i = 0; i >= 0; i = next_[i]) ids_[kept++] = ids_[i];
    ids_.resize(kept);
  }

 private:
  using Entry = std::pair<int32_t, int32_t>;  // rank, index of the left one

  int32_t rank_at(int32_t left) const {
    if (ids_[left] < 0 || next_[left] < 0) return -1;
    return merger_.rank(ids_[left], ids_[next_[left]]);
  }

  void offer(int32_t left) {
    if (const int32_t rank = rank_at(left); rank >= 0) heap_.push({rank, left});
  }

  void join(int32_t left, int32_t rank) {
    const int32_t right = next_[left], after = next_[right];
    ids_[left] = merger_.made(rank);
    ids_[right] = -1;
    next_[left] = after;
    if (after >= 0) previous_[after] = left;
    offer(left);
    if (previous_[left] >= 0) offer(previous_[left]);
  }

  std::vector<int32_t>& ids_;
  const PairMerger& merger_;
  std::vector<int32_t> next_, previous_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace

MergeTable::MergeTable(std::vector<std::pair<int32_t, int32_t>> merges)
    : merges_(std::move(merges)) {
  require(merges_.size() <= kMostMerges, "a tokenizer of {} merges is too large; {} is the most",
          merges_.size(), kMostMerges);
  starts_.resize(256 + merges_.size() + 1);
  for (size_t id = 0; id < 256; ++id) starts_[id + 1] = id + 1;
  for (size_t rank = 0; rank < merges_.size(); ++rank) check(rank);
  lay_out_bytes();
}

void MergeTable::check(size_t rank) {
  const auto [left, right] = merges_[rank];
  const int32_t made = narrow<int32_t>(256 + rank);
  require(left >= 0 && left < made && right >= 0 && right < made,
          "merge {} is [{}, {}], but only ids 0 to {} exist before it", rank, left, right,
          made - 1);
  const bool fresh = merger_.add(left, right, narrow<int32_t>(rank), made);
  require(fresh, "merge {} is [{}, {}], which merge {} already is", rank, left, right,
          merger_.rank(left, right));
  const auto length = [&](int32_t id) { return starts_[id + 1] - starts_[id]; };
  const uint64_t joined = length(left) + length(right);
  require(joined <= kLongestToken,
          "merge {} is [{}, {}] and makes a token of {} bytes; {} is the most", rank, left, right,
          joined, kLongestToken);
  starts_[256 + rank + 1] = starts_[256 + rank] + joined;
  require(starts_[256 + rank + 1] <= kMostBytes,
          "at merge {} the tokens hold {} bytes together; {} is the most", rank,
          starts_[256 + rank + 1], kMostBytes);
}

void MergeTable::lay_out_bytes() {
  bytes_.reserve(starts_.back());
  for (const char byte : byte_of_id()) bytes_.push_back(byte);
  for (const auto& [left, right] : merges_) {
    bytes_.append(bytes_of(left));
    bytes_.append(bytes_of(right));
  }
}

std::string_view MergeTable::bytes_of(int32_t id) const {
  return std::string_view(bytes_).substr(starts_[id], starts_[id + 1] - starts_[id]);
}

bool PairMerger::add(int32_t left, int32_t right, int32_t rank, int32_t made) {
  if (!ranks_.insert(pair_key(left, right), rank).second) return false;
  if (std::ssize(made_) <= rank) made_.resize(rank + 1, -1);
  made_[rank] = made;
  return true;
}

void PairMerger::merge(std::vector<int32_t>& ids) const {
  if (ids.size() < 2 || made_.empty()) return;
  if (ids.size() <= kShortWord)
    merge_short(ids);
  else
    merge_long(ids);
}

// A pair's rank stands at its left index, so that a merge asks for two ranks anew and no more.
void PairMerger::merge_short(std::vector<int32_t>& ids) const {
  std::array<int32_t, kShortWord> ranks;
  size_t size = ids.size();
  const auto rank_at = [&](size_t left) {
    const int32_t found = left + 1 < size ? rank(ids[left], ids[left + 1]) : -1;
    return found < 0 ? kNoRank : found;
  };
  for (size_t i = 0; i < size; ++i) ranks[i] = rank_at(i);
  while (true) {
    const auto best = std::min_element(ranks.begin(), ranks.begin() + size);
    if (*best == kNoRank) break;
    const size_t index = best - ranks.begin();
    ids[index] = made(*best);
    --size;
    for (size_t i = index + 1; i < size; ++i) {
      ids[i] = ids[i + 1];
      ranks[i] = ranks[i + 1];
    }
    ranks[index] = rank_at(index);
    if (index > 0) ranks[index - 1] = rank_at(index - 1);
  }
  ids.resize(size);
}

void PairMerger::merge_long(std::vector<int32_t>& ids) const {
  require(std::ssize(ids) < kNoRank, "a word of {} bytes is too long to encode", ids.size());
  LongWord(ids, *this).merge_all();
}

}  // namespace skein::text
