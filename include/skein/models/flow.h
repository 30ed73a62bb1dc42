// What crosses from one piece of a model to the next.
#pragma once

#include <utility>
#include <vector>

#include "skein/core/error.h"
#include "skein/ops/var.h"

namespace skein {

// A tensor that crosses.
struct FlowPart {
  Shape shape;
  DType dtype;
};

// A few tensors, in an order that the pieces of a model agree on: the hidden states of a decoder;
// beside them what an encoder has made of the source. Most models need one, so a Var is a Flow.
class Flow {
 public:
  Flow() = default;
  Flow(Var one) { all_.push_back(std::move(one)); }
  explicit Flow(std::vector<Var> all) : all_(std::move(all)) {}

  // The tensor of a flow that has one only.
  const Var& only() const {
    SKEIN_CHECK_EQ(all_.size(), size_t{1});
    return all_.front();
  }
  operator const Var&() const { return only(); }

  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  const Var& operator[](size_t number) const { return all_[number]; }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<Var> all_;
};

}  // namespace skein
