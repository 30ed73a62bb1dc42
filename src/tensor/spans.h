// Memory that comes in few large pieces and goes out in blocks of any size. It counts addresses
// only, and touches nothing there. Internal to the floor.
//
// Invariants: the spans of a piece follow each other without a gap, from its begin to its end; no
// two neighbours are free. A free span stands in `free_` by its size, and a taken one nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace skein::cuda {

class Spans {
 public:
  static constexpr int64_t kGranule = 512;  // blocks are multiples of it

  // The shortest free span that is long enough, the first of those; what it has beyond stays free.
  // Null where there is none.
  std::byte* take(int64_t bytes);
  // A block that was taken, which joins its free neighbours.
  void give(std::byte* block);
  bool holds(const std::byte* block) const;

  // From now on it is cut here. bytes: a multiple of kGranule.
  void add(std::byte* piece, int64_t bytes);
  // Pieces of which nothing is taken, which are no longer cut here.
  std::vector<std::byte*> remove_free_pieces();
  // Takes over what the other has.
  void absorb(Spans& other);

  size_t pieces() const { return pieces_.size(); }
  int64_t free_bytes() const;
  int64_t all_bytes() const;
  int64_t largest_free() const { return free_.empty() ? 0 : free_.rbegin()->first; }

 private:
  struct Span {
    int64_t size = 0;
    bool free = false;
    std::byte* piece = nullptr;  // its begin
  };
  using ByAddress = std::map<std::byte*, Span>;

  void set_free(ByAddress::iterator span, bool free);
  // Joins the span with the next one, if both are free parts of one piece.
  void join_next(ByAddress::iterator span);

  ByAddress spans_;
  std::set<std::pair<int64_t, std::byte*>> free_;
  std::map<const std::byte*, int64_t> pieces_;
};

}  // namespace skein::cuda
