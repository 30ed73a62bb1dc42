#include "skein/checkpoint/reshard.h"

#include <algorithm>
#include <tuple>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

#include "convert.h"

namespace skein::checkpoint {
namespace {

// One dim of the meeting of two boxes, measured in each of them.
struct Dim {
  int64_t count = 1;                       // indices they share
  int64_t from_offset = 0, to_offset = 0;  // of the first shared index in each box
  int64_t from_extent = 1, to_extent = 1;
  int64_t from_stride = 1, to_stride = 1;  // elements one step of the index skips

  bool full() const { return count == from_extent && count == to_extent; }
};

// The dims outer and inner as one; only right when inner is full.
Dim merged(const Dim& outer, const Dim& inner) {
  Dim both = outer;
  for (int64_t Dim::*measured :
       {&Dim::count, &Dim::from_offset, &Dim::to_offset, &Dim::from_extent, &Dim::to_extent})
    both.*measured *= inner.count;
  return both;
}

void set_strides(std::vector<Dim>& dims) {
  for (size_t d = dims.size() - 1; d-- > 0;) {
    dims[d].from_stride = dims[d + 1].from_stride * dims[d + 1].from_extent;
    dims[d].to_stride = dims[d + 1].to_stride * dims[d + 1].to_extent;
  }
}

Dim meeting(const Region& from, const Region& to, size_t d) {
  const int64_t first = std::max(from.start[d], to.start[d]);
  const int64_t last = std::min(from.start[d] + from.extent[d], to.start[d] + to.extent[d]);
  return {.count = last - first,
          .from_offset = first - from.start[d],
          .to_offset = first - to.start[d],
          .from_extent = from.extent[d],
          .to_extent = to.extent[d]};
}

// The meeting of two boxes, outer dims first, as few dims as possible; empty when they do not meet.
std::vector<Dim> meeting_of(const Region& from, const Region& to) {
  SKEIN_CHECK_EQ(from.start.size(), to.start.size());
  if (from.size() == 0 || to.size() == 0) return {};
  std::vector<Dim> dims;
  for (size_t d = from.start.size(); d-- > 0;) {
    const Dim dim = meeting(from, to, d);
    if (dim.count <= 0) return {};
    if (!dims.empty() && dims.back().full())
      dims.back() = merged(dim, dims.back());
    else
      dims.push_back(dim);
  }
  if (dims.empty()) dims.push_back({});  // a scalar
  std::ranges::reverse(dims);
  set_strides(dims);
  return dims;
}

struct Range {
  int64_t first = 0, last = 0;
};

// Finds the contiguous runs that two regions share and hands each to `found(from, to, count)`, with
// positions counted from the regions' first elements.
template <class Found>
class Walk {
 public:
  Walk(const Region& from, const Region& to, Found& found)
      : from_(from), to_(to), dims_(meeting_of(from, to)), found_(found) {}

  bool anything() const { return !dims_.empty() && !empty(shared(0, 0, 0)); }
  void run() {
    if (!dims_.empty()) descend(0, 0, 0);
  }

 private:
  static bool empty(const Range& range) { return range.first >= range.last; }
  bool done() const {
    if constexpr (requires { found_.done(); }) return found_.done();
    return false;
  }

  // Indices of dim d that both flat ranges reach; from and to are the flat row numbers of the outer
  // dims.
  Range shared(size_t d, int64_t from, int64_t to) const {
    const Dim& dim = dims_[d];
    const int64_t from_first = from * dim.from_extent + dim.from_offset;
    const int64_t to_first = to * dim.to_extent + dim.to_offset;
    return {std::max({int64_t{0}, from_.begin / dim.from_stride - from_first,
                      to_.begin / dim.to_stride - to_first}),
            std::min({dim.count, (from_.end - 1) / dim.from_stride - from_first + 1,
                      (to_.end - 1) / dim.to_stride - to_first + 1})};
  }

  void descend(size_t d, int64_t from, int64_t to) {
    const Range range = shared(d, from, to);
    if (empty(range)) return;
    const int64_t from_first = from * dims_[d].from_extent + dims_[d].from_offset;
    const int64_t to_first = to * dims_[d].to_extent + dims_[d].to_offset;
    if (d + 1 == dims_.size()) {
      found_(from_first + range.first - from_.begin, to_first + range.first - to_.begin,
             range.last - range.first);
      return;
    }
    for (int64_t i = range.first; i < range.last && !done(); ++i)
      descend(d + 1, from_first + i, to_first + i);
  }

  const Region& from_;
  const Region& to_;
  std::vector<Dim> dims_;
  Found& found_;
};

// Ends with the first run that is found, which lies in the first rows.
struct First {
  int64_t total = 0;
  void operator()(int64_t, int64_t, int64_t count) { total += count; }
  bool done() const { return total > 0; }
};

// Boxes that were cut out of one tensor.
bool boxes_meet(const Region& a, const Region& b) {
  for (size_t d = 0; d < a.start.size(); ++d)
    if (a.start[d] >= b.start[d] + b.extent[d] || b.start[d] >= a.start[d] + a.extent[d])
      return false;
  return true;
}

bool same_box(const Region& a, const Region& b) {
  return a.start == b.start && a.extent == b.extent;
}

using Regions = std::vector<const Region*>;

// Sorted by box, then by range; empty ones left out.
Regions in_order(const std::vector<Region>& regions) {
  Regions sorted;
  for (const Region& region : regions)
    if (region.size() > 0) sorted.push_back(&region);
  std::ranges::sort(sorted, [](const Region* a, const Region* b) {
    return std::tie(a->start, a->extent, a->begin) < std::tie(b->start, b->extent, b->begin);
  });
  return sorted;
}

// The ranges of each box, in order.
std::vector<Regions> by_box(const Regions& sorted) {
  std::vector<Regions> boxes;
  for (const Region* region : sorted) {
    if (boxes.empty() || !same_box(*boxes.back().front(), *region)) boxes.emplace_back();
    boxes.back().push_back(region);
  }
  return boxes;
}

int64_t shared_between(const Regions& group, const Regions& other) {
  First first;
  for (const Region* a : group)
    for (const Region* b : other) {
      Walk<First>(*a, *b, first).run();
      if (first.done()) return first.total;
    }
  return 0;
}

int64_t shared_with_neighbours(const std::vector<Regions>& boxes) {
  int64_t total = 0;
  for (const Regions& box : boxes)
    for (size_t i = 1; i < box.size(); ++i)
      total += std::max<int64_t>(0, std::min(box[i - 1]->end, box[i]->end) - box[i]->begin);
  return total;
}

// Why elements may be held twice; "" where none is. Tensor parallelism cuts boxes, one a rank, that
// do not meet; all else cuts ranges of one box, which are compared with their neighbours. So
// thousands of ranges cost no square, and bounds keep off what an enemy lists.
std::string doubled(const std::vector<Regions>& boxes) {
  constexpr size_t kMostBoxes = 4096, kMostPairs = size_t{1} << 18;
  if (boxes.size() > kMostBoxes)
    return fmt::format("its pieces lie in {} different boxes; {} is the most", boxes.size(),
                       kMostBoxes);
  int64_t twice = shared_with_neighbours(boxes);
  size_t pairs = 0;
  for (size_t a = 0; a < boxes.size(); ++a)
    for (size_t b = a + 1; b < boxes.size() && twice == 0; ++b) {
      const Region &here = *boxes[a].front(), &there = *boxes[b].front();
      if (there.start[0] >= here.start[0] + here.extent[0]) break;  // as do all after it
      if (!boxes_meet(here, there)) continue;
      pairs += boxes[a].size() * boxes[b].size();
      if (pairs > kMostPairs) return "its pieces are too many ranges of boxes that meet";
      twice += shared_between(boxes[a], boxes[b]);
    }
  return twice > 0 ? fmt::format("its pieces hold at least {} elements more than once", twice) : "";
}

}  // namespace

Region region_of(const Piece& piece) {
  return {piece.box_start, piece.box_extent, piece.begin, piece.end};
}

int64_t element_count(const std::vector<int64_t>& dims) {
  const auto count = checked_product(dims);
  if (!count) fail("the shape {} is not that of a tensor", shape_text(dims));
  return *count;
}

std::string shape_text(const std::vector<int64_t>& dims) {
  return fmt::format("[{}]", fmt::join(dims, ","));
}

std::string misfit(const Region& region, const std::vector<int64_t>& shape) {
  if (region.start.size() != shape.size() || region.extent.size() != shape.size())
    return fmt::format("its box has {} dims, the tensor {}", region.extent.size(), shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    if (region.start[d] < 0 || region.extent[d] < 0 || region.extent[d] > shape[d] ||
        region.start[d] > shape[d] - region.extent[d])
      return fmt::format("its box {} + {} leaves the shape {}", shape_text(region.start),
                         shape_text(region.extent), shape_text(shape));
  if (region.begin < 0 || region.begin > region.end || region.end > element_count(region.extent))
    return fmt::format("its range {} to {} leaves the box {}", region.begin, region.end,
                       shape_text(region.extent));
  return "";
}

std::string tiling_fault(const std::vector<Region>& regions, const std::vector<int64_t>& shape) {
  int64_t held = 0;
  for (const Region& region : regions)
    if (__builtin_add_overflow(held, region.size(), &held))
      return "its pieces hold more than 2^63 elements";
  const std::string fault = doubled(by_box(in_order(regions)));
  if (!fault.empty()) return fault;
  const int64_t wanted = element_count(shape);
  if (held != wanted) return fmt::format("its pieces hold {} of its {} elements", held, wanted);
  return "";
}

bool may_overlap(const Region& a, const Region& b) {
  First first;
  return Walk<First>(a, b, first).anything();
}

bool convertible(DType from, DType to) {
  const auto floating = [](DType dtype) {
    return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16 ||
           dtype == DType::f16;
  };
  return from == to || (floating(from) && floating(to));
}

int64_t copy_overlap(const Region& from_region, DType from_dtype, const std::byte* from,
                     const Region& to_region, DType to_dtype, std::byte* to) {
  int64_t copied = 0;
  auto copy = [&](int64_t from_position, int64_t to_position, int64_t count) {
    convert_run(from_dtype, from + from_position * size_of(from_dtype), to_dtype,
                to + to_position * size_of(to_dtype), count);
    copied += count;
  };
  Walk<decltype(copy)>(from_region, to_region, copy).run();
  return copied;
}

}  // namespace skein::checkpoint
