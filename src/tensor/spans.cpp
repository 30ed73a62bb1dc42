#include "spans.h"

#include <algorithm>
#include <iterator>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::cuda {

void Spans::set_free(ByAddress::iterator span, bool free) {
  span->second.free = free;
  if (free)
    free_.emplace(span->second.size, span->first);
  else
    free_.erase({span->second.size, span->first});
}

std::byte* Spans::take(int64_t bytes) {
  const int64_t size = rounded_up(std::max<int64_t>(1, bytes), kGranule);
  const auto found = free_.lower_bound({size, nullptr});
  if (found == free_.end()) return nullptr;
  const auto span = spans_.find(found->second);
  set_free(span, false);
  if (const int64_t rest = span->second.size - size; rest > 0) {
    span->second.size = size;
    const auto next = spans_.emplace(span->first + size, Span{rest, false, span->second.piece});
    set_free(next.first, true);
  }
  return span->first;
}

void Spans::join_next(ByAddress::iterator span) {
  const auto next = std::next(span);
  if (next == spans_.end() || !span->second.free || !next->second.free ||
      span->second.piece != next->second.piece)
    return;
  set_free(span, false);
  set_free(next, false);
  span->second.size += next->second.size;
  spans_.erase(next);
  set_free(span, true);
}

void Spans::give(std::byte* block) {
  const auto span = spans_.find(block);
  SKEIN_CHECK(span != spans_.end() && !span->second.free);
  set_free(span, true);
  join_next(span);
  if (span != spans_.begin()) join_next(std::prev(span));
}

bool Spans::holds(const std::byte* block) const {
  const auto after = pieces_.upper_bound(block);
  if (after == pieces_.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return block < begin + size;
}

void Spans::add(std::byte* piece, int64_t bytes) {
  SKEIN_CHECK(bytes > 0 && bytes % kGranule == 0);
  pieces_.emplace(piece, bytes);
  set_free(spans_.emplace(piece, Span{bytes, false, piece}).first, true);
}

std::vector<std::byte*> Spans::remove_free_pieces() {
  std::vector<std::byte*> removed;
  for (auto span = spans_.begin(); span != spans_.end();) {
    const auto [begin, held] = *span;
    const bool whole = held.free && held.piece == begin && pieces_.at(begin) == held.size;
    const auto here = span++;
    if (!whole) continue;
    set_free(here, false);
    spans_.erase(here);
    pieces_.erase(begin);
    removed.push_back(begin);
  }
  return removed;
}

void Spans::absorb(Spans& other) {
  spans_.merge(other.spans_);
  free_.merge(other.free_);
  pieces_.merge(other.pieces_);
}

int64_t Spans::all_bytes() const {
  int64_t sum = 0;
  for (const auto& [begin, size] : pieces_) sum += size;
  return sum;
}

int64_t Spans::free_bytes() const {
  int64_t sum = 0;
  for (const auto& [size, begin] : free_) sum += size;
  return sum;
}

}  // namespace skein::cuda
