#include "skein/parallel/pipeline.h"

#include "skein/core/profile.h"

namespace skein {
namespace {

enum : int { kActivation = 0, kGradient = 1 };

std::vector<double> sample_sums(const Tensor& rows_anywhere, const Tensor& weights) {
  const Tensor rows = rows_anywhere.to(Device{});
  const int64_t batch = weights.dim(0), length = weights.dim(1);
  std::vector<double> sums(static_cast<size_t>(batch), 0.0);
  const float* weight = weights.data<float>();
  visit_float(rows.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* loss = rows.data<T>();
    for (int64_t i = 0; i < batch * length; ++i)
      sums[static_cast<size_t>(i / length)] += static_cast<double>(static_cast<Accumulator<T>>(loss[i])) * weight[i];
  });
  return sums;
}

}  // namespace

Pipeline::Pipeline(Mesh& mesh, PipelineModel model, ScheduleKind kind, bool record)
    : mesh_(mesh), model_(std::move(model)), kind_(kind),
      pieces_(static_cast<int>(model_.pieces.size()) * mesh.pp().size()) {
  if (!record) return;
  require(model_.device.kind == DeviceKind::cuda && pieces_ == 1 && mesh.tp().size() == 1,
          "parallel.cuda_graph records a whole model on one GPU, but here are {} pieces of {} shards on a {}; leave it out, or use "
          "parallel.device=cuda with parallel.pipeline=1, parallel.chunks=1 and parallel.tensor=1",
          pieces_, mesh.tp().size(), model_.device.kind == DeviceKind::cuda ? "GPU" : "CPU");
  recorded_ = std::make_unique<RecordedPass>();
}

void Pipeline::run(const PipelineStep& step, const Pass& pass) {
  const int micro_batches = static_cast<int>(step.micro_batches.size());
  losses_.assign(step.micro_batches.size(), {});
  placed_.clear();
  for (const Batch& batch : step.micro_batches) placed_.push_back(placed(batch, model_.device));
  const auto actions = make_schedule(step.train ? kind_ : ScheduleKind::gpipe, mesh_.stage(), mesh_.pp().size(),
                                     micro_batches, static_cast<int>(model_.pieces.size()));
  // A profile wants to see each kernel end.
  const bool recorded = step.train && recorded_ && !Profile::running();
  for (int i = 0; recorded && i < micro_batches; ++i) run_recorded(i, step, pass);
  if (recorded) return;
  for (const Action& action : actions) {
    if (action.kind == Action::forward) forward(action, step, pass);
    else if (step.train) backward(action, step, pass);
  }
  for (auto& [key, flight] : in_flight_) flight.sent.wait();
  for (auto& [work, tensor] : sending_) work.wait();
  in_flight_.clear();
  sending_.clear();
}

std::vector<double> Pipeline::losses() const {
  std::vector<double> all;
  for (const RowLosses& losses : losses_) {
    if (!losses.rows.defined()) continue;
    const std::vector<double> sums = sample_sums(losses.rows, losses.weights);
    all.insert(all.end(), sums.begin(), sums.end());
  }
  return all;
}

void Pipeline::run_recorded(int micro_batch, const PipelineStep& step, const Pass& pass) {
  const Span span("forward and backward");
  const Batch& batch = placed_[static_cast<size_t>(micro_batch)];
  const Tensor losses = recorded_->run(batch, row_weights_of(batch, step.loss_scale, Tensor::empty({0}, model_.dtype, model_.device)),
                                       [&](const Batch& read, const Tensor& row_weights) {
    Pass inner = pass;
    inner.batch = &read;
    inner.row_weights = row_weights;
    const Losses made = model_.objective->losses(model_.pieces.front()->forward({}, inner), inner);
    skein::backward(made.rows, made.row_weights);
    return made.rows.value();
  });
  losses_[static_cast<size_t>(micro_batch)] = {losses, batch.weights};
  if (step.after_backward) step.after_backward(micro_batch, 0);
}

void Pipeline::forward(const Action& action, const PipelineStep& step, const Pass& pass) {
  const Span span("forward");
  const Batch& batch = placed_[static_cast<size_t>(action.micro_batch)];
  const Model& model = *model_.pieces[static_cast<size_t>(action.chunk)];
  const int piece = piece_number(action.chunk);
  Pass inner = pass;
  inner.batch = &batch;
  std::unique_ptr<NoGrad> no_grad;
  if (!step.train) no_grad = std::make_unique<NoGrad>();
  InFlight flight;
  if (!first(action.chunk)) {
    const Shape shape = model.flow_shape(batch.size(), batch.length());
    flight.input = Var::leaf(receive(action.micro_batch, piece, kActivation, shape));
  }
  const Var output = model.forward(flight.input, inner);
  flight.output = output;
  if (!last(action.chunk)) flight.sent = send(output.value(), action.micro_batch, piece + 1, kActivation);
  else if (!step.train) losses_of(action.micro_batch, output, step, pass);
  if (step.train) {
    in_flight_[{action.micro_batch, action.chunk}] = std::move(flight);
  } else if (!last(action.chunk)) {
    sending_.emplace_back(std::move(flight.sent), output.value());
  }
}

// When training they are made when their gradient is wanted: they may add to the head's gradients at once, which belong to this
// micro-batch only then.
Losses Pipeline::losses_of(int micro_batch, const Var& output, const PipelineStep& step, const Pass& pass) {
  Pass inner = pass;
  inner.batch = &placed_[static_cast<size_t>(micro_batch)];
  inner.loss_scale = step.loss_scale;
  Losses losses = model_.objective->losses(output, inner);
  losses_[static_cast<size_t>(micro_batch)] = {losses.rows.value(), losses.weights};
  return losses;
}

void Pipeline::backward(const Action& action, const PipelineStep& step, const Pass& pass) {
  const Span span("backward");
  auto node = in_flight_.extract({action.micro_batch, action.chunk});
  SKEIN_CHECK(!node.empty());
  InFlight flight = std::move(node.mapped());
  const int piece = piece_number(action.chunk);
  if (last(action.chunk)) {
    const Losses losses = losses_of(action.micro_batch, flight.output, step, pass);
    skein::backward(losses.rows, losses.row_weights);
  } else {
    flight.sent.wait();
    const Tensor gradient = receive(action.micro_batch, piece, kGradient, flight.output.shape());
    flight.output.drop_value();
    skein::backward(flight.output, gradient);
  }
  if (!first(action.chunk)) {
    const Tensor gradient = flight.input.gradient();
    sending_.emplace_back(send(gradient, action.micro_batch, piece - 1, kGradient), gradient);
  }
  if (step.after_backward) step.after_backward(action.micro_batch, action.chunk);
}

// Messages go to the rank that holds `piece`; between pieces of one rank they are handed over.
Work Pipeline::send(const Tensor& tensor, int micro_batch, int piece, int kind) {
  const int stages = mesh_.pp().size(), peer = piece % stages;
  if (peer == mesh_.stage()) {
    handed_[{micro_batch, piece, kind}] = tensor;
    return {};
  }
  return mesh_.pp().send(tensor, peer, (micro_batch * pieces_ + piece) * 2 + kind);
}

Tensor Pipeline::receive(int micro_batch, int piece, int kind, const Shape& shape) {
  const int stages = mesh_.pp().size();
  const int from = kind == kActivation ? piece - 1 : piece + 1, peer = from % stages;
  if (peer == mesh_.stage()) {
    auto node = handed_.extract({micro_batch, piece, kind});
    SKEIN_CHECK(!node.empty());
    return node.mapped();
  }
  Tensor tensor = Tensor::empty(shape, model_.dtype, model_.device);
  const Span span("wait for a stage", 0, static_cast<double>(tensor.bytes()));
  mesh_.pp().recv(tensor, peer, (micro_batch * pieces_ + piece) * 2 + kind).wait();
  return tensor;
}

}  // namespace skein
