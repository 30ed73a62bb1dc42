// Elements of other files as ours.
#pragma once

#include <cstddef>

#include "skein/checkpoint/reshard.h"
#include "skein/convert/match.h"
#include "skein/core/files/files.h"

namespace skein::convert {

// `count` elements; values round to nearest even where the type gets narrower. No alignment is
// needed.
inline void convert_elements(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to,
                             int64_t count) {
  const checkpoint::Region run{{0}, {count}, 0, count};
  copy_overlap(run, from_dtype, from, run, to_dtype, to);
}

// Reads our tensors out of other programs' files.
class ElementReader {
 public:
  ElementReader(const Match& match, const WeightFiles& files)
      : match_(match), files_(files), slots_(match.slots()) {}

  // Elements [begin, end) of our tensor `name` of `shape`, as `dtype` to `out`.
  void read(const std::string& name, const std::vector<int64_t>& shape, int64_t begin, int64_t end,
            DType dtype, std::byte* out);

 private:
  void gather(size_t weight, int64_t first_column, int64_t inputs, int64_t begin, int64_t end,
              DType dtype, std::byte* out);
  // Among those of a tensor.
  struct DealtPart {
    int64_t number, size;
  };
  void collect(size_t weight, const ForeignTensor& tensor, const DealtPart& part, int64_t begin,
               int64_t end, DType dtype, std::byte* out) const;
  void copy(size_t weight, int64_t first, int64_t count, DType dtype, std::byte* out) const;

  const Match& match_;
  const WeightFiles& files_;
  std::map<std::string, Match::TensorSlot> slots_;
  std::optional<size_t> held_;  // whose bytes `whole_` are
  Bytes whole_;
};

}  // namespace skein::convert
