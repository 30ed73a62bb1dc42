#include "merge_table.h"

#include "skein/core/error.h"
#include "skein/text/byte_alphabet.h"
#include "skein/text/train_bpe.h"

#include <functional>
#include <limits>
#include <queue>

namespace skein {
namespace {

constexpr size_t kMostMerges = size_t{1} << 24;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;
constexpr size_t kShortWord = 32;
constexpr int32_t kNoRank = std::numeric_limits<int32_t>::max();

// The symbols of a long word as a list, with its mergeable pairs in a heap. An entry is stale when the pair
// at its place has changed since; it is then dropped on sight.
class LongWord {
 public:
  LongWord(std::vector<int32_t>& ids, const PairMap& ranks) : ids_(ids), ranks_(ranks) {
    const auto size = static_cast<int32_t>(ids.size());
    next_.resize(ids.size());
    previous_.resize(ids.size());
    for (int32_t i = 0; i < size; ++i) {
      next_[at(i)] = i + 1 < size ? i + 1 : -1;
      previous_[at(i)] = i - 1;
    }
    for (int32_t i = 0; i + 1 < size; ++i) offer(i);
  }

  void merge_all() {
    while (!heap_.empty()) {
      const auto [rank, left] = heap_.top();
      heap_.pop();
      if (rank_at(left) == rank) join(left, rank);
    }
    size_t kept = 0;
    for (int32_t i = 0; i >= 0; i = next_[at(i)]) ids_[kept++] = ids_[at(i)];
    ids_.resize(kept);
  }

 private:
  using Entry = std::pair<int32_t, int32_t>;  // rank, left place

  static size_t at(int32_t place) { return static_cast<size_t>(place); }

  int32_t rank_at(int32_t left) const {
    if (ids_[at(left)] < 0 || next_[at(left)] < 0) return -1;
    return ranks_.find(pair_key(ids_[at(left)], ids_[at(next_[at(left)])]));
  }

  void offer(int32_t left) {
    if (const int32_t rank = rank_at(left); rank >= 0) heap_.push({rank, left});
  }

  void join(int32_t left, int32_t rank) {
    const int32_t right = next_[at(left)], after = next_[at(right)];
    ids_[at(left)] = 256 + rank;
    ids_[at(right)] = -1;
    next_[at(left)] = after;
    if (after >= 0) previous_[at(after)] = left;
    offer(left);
    if (previous_[at(left)] >= 0) offer(previous_[at(left)]);
  }

  std::vector<int32_t>& ids_;
  const PairMap& ranks_;
  std::vector<int32_t> next_, previous_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace

MergeTable::MergeTable(std::vector<std::pair<int32_t, int32_t>> merges) : merges_(std::move(merges)) {
  require(merges_.size() <= kMostMerges, "a tokenizer of {} merges is too large; {} is the most",
          merges_.size(), kMostMerges);
  starts_.resize(256 + merges_.size() + 1);
  for (size_t id = 0; id < 256; ++id) starts_[id + 1] = id + 1;
  for (size_t rank = 0; rank < merges_.size(); ++rank) check(rank);
  lay_out_bytes();
}

void MergeTable::check(size_t rank) {
  const auto [left, right] = merges_[rank];
  const auto made = static_cast<int32_t>(256 + rank);
  require(left >= 0 && left < made && right >= 0 && right < made,
          "merge {} is [{}, {}], but only ids 0 to {} exist before it", rank, left, right, made - 1);
  const auto [first, fresh] = ranks_.insert(pair_key(left, right), static_cast<int32_t>(rank));
  require(fresh, "merge {} is [{}, {}], which merge {} already is", rank, left, right, first);
  const auto length = [&](int32_t id) {
    return starts_[static_cast<size_t>(id) + 1] - starts_[static_cast<size_t>(id)];
  };
  const uint64_t joined = length(left) + length(right);
  require(joined <= kLongestToken, "merge {} is [{}, {}] and makes a token of {} bytes; {} is the most", rank,
          left, right, joined, kLongestToken);
  starts_[256 + rank + 1] = starts_[256 + rank] + joined;
  require(starts_[256 + rank + 1] <= kMostBytes,
          "at merge {} the tokens hold {} bytes together; {} is the most", rank, starts_[256 + rank + 1],
          kMostBytes);
}

void MergeTable::lay_out_bytes() {
  bytes_.reserve(starts_.back());
  for (const uint8_t byte : byte_of_id()) bytes_.push_back(static_cast<char>(byte));
  for (const auto& [left, right] : merges_) {
    bytes_.append(bytes_of(left));
    bytes_.append(bytes_of(right));
  }
}

std::string_view MergeTable::bytes_of(int32_t id) const {
  const auto at = static_cast<size_t>(id);
  return std::string_view(bytes_.data() + starts_[at], starts_[at + 1] - starts_[at]);
}

void MergeTable::merge(std::vector<int32_t>& ids) const {
  if (ids.size() < 2 || merges_.empty()) return;
  if (ids.size() <= kShortWord)
    merge_short(ids);
  else
    merge_long(ids);
}

void MergeTable::merge_short(std::vector<int32_t>& ids) const {
  while (ids.size() > 1) {
    int32_t best = kNoRank;
    size_t place = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const int32_t rank = ranks_.find(pair_key(ids[i], ids[i + 1]));
      if (rank < 0 || rank >= best) continue;
      best = rank;
      place = i;
    }
    if (best == kNoRank) return;
    ids[place] = 256 + best;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

void MergeTable::merge_long(std::vector<int32_t>& ids) const {
  require(ids.size() < static_cast<size_t>(kNoRank), "a word of {} bytes is too long to encode", ids.size());
  LongWord(ids, ranks_).merge_all();
}

}  // namespace skein
