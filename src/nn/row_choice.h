// Choices of rows as they are made, on the host. Internal to layers.
#pragma once

#include <vector>

#include "skein/core/numbers.h"
#include "skein/ops/embedding.h"

namespace skein {

// `to` rows of `from`, each of which goes to `uses` places at most.
class RowChoiceMaker {
 public:
  RowChoiceMaker(int64_t to, int64_t from, int64_t uses = 1)
      : rows_(static_cast<size_t>(to), -1),
        back_(static_cast<size_t>(from * uses), -1),
        from_(from) {}
  void take(int64_t to, int64_t row, int64_t use = 0) {
    rows_[static_cast<size_t>(to)] = narrow<int32_t>(row);
    back_[static_cast<size_t>(use * from_ + row)] = narrow<int32_t>(to);
  }
  int64_t size() const { return std::ssize(rows_); }
  ops::RowChoice on(Device device) const {
    return {Tensor::from(rows_, {std::ssize(rows_)}).to(device),
            Tensor::from(back_, {std::ssize(back_)}).to(device)};
  }

 private:
  std::vector<int32_t> rows_, back_;
  int64_t from_;
};

}  // namespace skein
