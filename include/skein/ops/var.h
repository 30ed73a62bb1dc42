// The tape. A Var is a Tensor and the node that made it; backward runs nodes in exactly the reverse
// of their creation. Parameters are not on the tape: ops add into their gradients directly, in that
// order.
//
//   Var x = Var::leaf(input);                 // wants a gradient
//   Var y = ops::activation(x, kind);
//   backward(y, dy);
//   x.gradient();
//
// Strict: no op changes a recorded tensor, there are no second derivatives, and a graph runs
// backward once. Operands that do not fit an op are refused before it runs: Error(internal), whose
// text names the op, both values and all operands. All but those said to be on the host are on one
// device.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "skein/kernels/matmul.h"

namespace skein {

// What lies in memory for a parameter. Its owner may move, free and make it again whenever no op is
// at work on it, between a forward and its backward too.
struct WeightMemory {
  Tensor value;
  Tensor gradient;  // accumulator type: backward adds to it
  // Of the value, in the order of products; null: none are kept. Whoever changes the value lets
  // them be forgotten.
  std::shared_ptr<kernels::PackedCopies> packed = nullptr;
  bool learns = true;  // false: frozen, and without a gradient
};

// A parameter as ops see it: a handle that finds the memory when an op runs, and again when its
// backward runs. The memory's owner outlives both.
class Weight {
 public:
  Weight() = default;  // none: an absent bias
  Weight(const WeightMemory& memory) : memory_(&memory) {}
  Weight(WeightMemory&&) = delete;
  bool defined() const { return memory_ && memory_->value.defined(); }
  bool learns() const { return memory_ && memory_->learns; }
  // Undefined where there is none.
  const Tensor& value() const { return memory_ ? memory_->value : none(); }
  const Tensor& gradient() const;
  // Before backward: undefined too where the owner has yet to make it.
  const Tensor& gradient_at_hand() const { return learns() ? memory_->gradient : none(); }
  kernels::PackedCopies* packed() const { return memory_ ? memory_->packed.get() : nullptr; }

 private:
  static const Tensor& none();

  const WeightMemory* memory_ = nullptr;
};

struct Node;

class Var {
 public:
  Var() = default;
  // A constant: no gradient flows to it.
  explicit Var(Tensor value);
  // An input whose gradient is wanted.
  static Var leaf(Tensor value);

  bool defined() const { return state_ != nullptr; }
  const Tensor& value() const;
  bool needs_gradient() const { return state_ && state_->needs_gradient; }
  // Undefined until backward has reached it.
  const Tensor& gradient() const { return state_->gradient; }
  void add_gradient(const Tensor& gradient) const;
  // What has been added so far, for a step that adds its part in its own pass and gives the sum
  // back; may be undefined.
  Tensor take_gradient() const { return std::exchange(state_->gradient, Tensor()); }
  // Frees the value's bytes: allowed once nothing downstream needs them (a pipeline output that was
  // sent).
  void drop_value() const { state_->value.drop_data(); }
  // Frees them too, and makes them again when somebody next asks for the value.
  void remake_value(std::function<Tensor()> remake) const;
  // In backward `reached` is called once all ops that were made after this Var have run their
  // steps, before the one that made it runs its own: the gradients of weights to which those add
  // hold all they will. Nothing where no recorded op has made it.
  void on_backward(std::function<void()> reached) const;
  const Shape& shape() const { return state_->value.shape(); }
  // Whether both are one result, not equal ones.
  bool is(const Var& other) const { return state_ == other.state_; }

 private:
  struct State {
    Tensor value, gradient;
    bool needs_gradient = false;
    bool sums = false;  // the gradient was made here, as a sum: nobody else holds it
    std::shared_ptr<Node> node;
    std::function<Tensor()> remake;
  };
  std::shared_ptr<State> state_;

  friend Var record(Tensor, const std::vector<Var>&, bool, std::function<void(const Tensor&)>);
  friend void backward(const std::vector<Var>&, const std::vector<Tensor>&);
};

// Makes an op's result. `step` receives the result's gradient and adds to the inputs' and weights'
// gradients. Nothing is recorded under NoGrad, or when neither an input nor a weight
// (weights_learn) wants a gradient.
Var record(Tensor value, const std::vector<Var>& inputs, bool weights_learn,
           std::function<void(const Tensor&)> step);

// Runs the graph behind `outputs` from their `gradients`, each shaped as its value; frees each node
// after it has run. Each runs within the part of the model (core/where.h) that recorded it. At
// least one output wants a gradient; others are passed over.
void backward(const std::vector<Var>& outputs, const std::vector<Tensor>& gradients);
inline void backward(const Var& output, const Tensor& gradient) {
  backward(std::vector<Var>{output}, std::vector<Tensor>{gradient});
}

// False under NoGrad on this thread.
bool recording();

// Switches recording on this thread while it lives.
class RecordingSwitch {
 public:
  explicit RecordingSwitch(bool on);
  ~RecordingSwitch();
  RecordingSwitch(const RecordingSwitch&) = delete;
  RecordingSwitch& operator=(const RecordingSwitch&) = delete;

 private:
  bool before_;
};
struct NoGrad : RecordingSwitch {
  NoGrad() : RecordingSwitch(false) {}
};
// Turns recording on again inside a NoGrad: what recomputation needs in backward.
struct Grad : RecordingSwitch {
  Grad() : RecordingSwitch(true) {}
};

}  // namespace skein
