// Which tensor of another program's files is which of a model's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skein/convert/weights.h"

namespace skein::convert {

struct Match {
  NameMap names;
  // of each of names.tensors: its index among the files' tensors
  std::vector<std::optional<size_t>> found;
  std::vector<std::string> missing;     // names that no file has
  std::vector<std::string> unexpected;  // names that the model has no use for
  std::vector<std::string> misshapen;   // with both shapes
  std::vector<std::string> ignored;  // buffers, and second uses equal to the first, with the reason

  // Where a tensor of ours is: its foreign tensor and its first element in that, or in that one's
  // transpose.
  struct TensorSlot {
    size_t tensor = 0;
    int64_t first = 0;
  };
  std::map<std::string, TensorSlot> slots() const;
  // A line for each tensor: theirs, its type and shape, and ours.
  std::string text(const WeightFiles& files) const;
};

// Whether two tensors of the files have the same type, shape and numbers.
bool equal_weights(const WeightFiles& files, size_t a, size_t b);

// Reads second uses, to compare them with the first. A usage error when they differ, or for types
// that are no numbers with a fraction.
Match match(NameMap names, const WeightFiles& files);

// A usage error that lists what does not fit and says which option lets what is missing or
// unexpected pass.
void check(const Match& match, const WeightFiles& files, bool allow_missing, bool allow_unexpected);

}  // namespace skein::convert
