#include "skein/ops/var.h"

#include <algorithm>
#include <unordered_set>

#include "skein/core/where.h"
#include "skein/kernels/elementwise.h"

#include "checks.h"

// Invariants of the tape.
//
// A node is made for each op that is recorded, and its number says when: numbers rise on a thread
// and a node's inputs have smaller ones. backward() gathers the nodes behind its output and runs
// them from the largest number to the smallest, whatever the graph looks like. So the parts of a
// weight's gradient are added in one order, whoever asks; and when backward comes to a node, all
// ops of the graph that were made later have run. on_backward() tells of that moment.
//
// A node runs once and is freed then, with all that only it has kept. Its own result's gradient is
// taken from the result before it runs, so none outlives its use. What recompute() records anew
// within a step is a graph of its own, which is run to its end there: to the graph around it, that
// is one node, and its weights are done when that node is.
namespace skein {

struct Node {
  uint64_t number;
  std::vector<Var> inputs;
  std::function<void(const Tensor&)> step;
  const char* part = where().part;
  std::vector<std::function<void()>> reached = {};
  ~Node();
};

namespace {

thread_local bool recording_now = true;
thread_local uint64_t next_number = 0;
thread_local std::vector<std::vector<Var>>* falling = nullptr;

}  // namespace

// A long graph dropped without backward must not recurse once a node.
Node::~Node() {
  if (falling) {
    falling->push_back(std::move(inputs));
    return;
  }
  std::vector<std::vector<Var>> pending;
  falling = &pending;
  pending.push_back(std::move(inputs));
  step = nullptr;
  while (!pending.empty()) {
    auto next = std::move(pending.back());
    pending.pop_back();
    next.clear();
  }
  falling = nullptr;
}

const Tensor& Weight::none() {
  static const Tensor undefined;
  return undefined;
}

const Tensor& Weight::gradient() const {
  if (!learns()) return none();
  SKEIN_CHECK(memory_->gradient.defined());
  return memory_->gradient;
}

Var::Var(Tensor value) : state_(std::make_shared<State>()) { state_->value = std::move(value); }

Var Var::leaf(Tensor value) {
  Var made(std::move(value));
  made.state_->needs_gradient = true;
  return made;
}

const Tensor& Var::value() const {
  ops::check(defined(), "an undefined Var has no value");
  if (state_->remake && !state_->value.defined()) state_->value = state_->remake();
  return state_->value;
}

void Var::remake_value(std::function<Tensor()> remake) const {
  state_->value.drop_data();
  state_->remake = std::move(remake);
}

void Var::on_backward(std::function<void()> reached) const {
  if (state_->node) state_->node->reached.push_back(std::move(reached));
}

void Var::add_gradient(const Tensor& gradient) const {
  if (!needs_gradient()) return;
  ops::check(gradient.size() == shape().size() && gradient.dtype() == state_->value.dtype(),
             "add_gradient: a gradient of {} {} was added to a value of {} {}",
             name_of(gradient.dtype()), gradient.shape(), name_of(state_->value.dtype()), shape());
  if (!state_->gradient.defined()) {
    state_->gradient = gradient;
    state_->sums = false;
    return;
  }
  const Tensor sum = state_->sums ? state_->gradient : gradient.like();
  on_device(sum.device(),
            [&](auto device) { kernels::add(device, state_->gradient, gradient, Out(sum)); });
  state_->gradient = sum;
  state_->sums = true;
}

Var record(Tensor value, const std::vector<Var>& inputs, bool weights_learn,
           std::function<void(const Tensor&)> step) {
  Var made(std::move(value));
  const bool wanted = weights_learn || std::any_of(inputs.begin(), inputs.end(),
                                                   [](const Var& v) { return v.needs_gradient(); });
  if (!recording_now || !wanted) return made;
  made.state_->needs_gradient = true;
  made.state_->node = std::make_shared<Node>(Node{next_number++, inputs, std::move(step)});
  return made;
}

void backward(const std::vector<Var>& outputs, const std::vector<Tensor>& gradients) {
  ops::check(outputs.size() == gradients.size(),
             "backward: {} outputs must have a gradient each, not {} in all", outputs.size(),
             gradients.size());
  std::vector<std::shared_ptr<Var::State>> made;
  std::unordered_set<const Var::State*> seen;
  std::vector<std::shared_ptr<Var::State>> open;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].needs_gradient()) continue;
    ops::check(gradients[i].shape() == outputs[i].shape(),
               "backward: the gradient must have the shape {} of the output, not {}",
               outputs[i].shape(), gradients[i].shape());
    open.push_back(outputs[i].state_);
  }
  ops::check(!open.empty(),
             "backward: nothing behind the output wants a gradient, or it was made under NoGrad");
  while (!open.empty()) {
    auto state = std::move(open.back());
    open.pop_back();
    if (!state->node || !seen.insert(state.get()).second) continue;
    for (const Var& input : state->node->inputs)
      if (input.needs_gradient()) open.push_back(input.state_);
    made.push_back(std::move(state));
  }
  std::sort(made.begin(), made.end(),
            [](const auto& a, const auto& b) { return a->node->number > b->node->number; });
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].add_gradient(gradients[i]);
  const NoGrad no_grad;
  for (auto& state : made) {
    const auto node = std::move(state->node);
    for (const auto& reached : node->reached) reached();
    const WhereScope here = WhereScope::part(node->part);
    if (state->gradient.defined()) node->step(std::exchange(state->gradient, Tensor()));
    state.reset();
  }
}

bool recording() { return recording_now; }
RecordingSwitch::RecordingSwitch(bool on) : before_(std::exchange(recording_now, on)) {}
RecordingSwitch::~RecordingSwitch() { recording_now = before_; }

}  // namespace skein
