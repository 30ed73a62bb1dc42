#include "skein/parallel/pipeline.h"

#include "skein/core/profile.h"
#include "skein/core/where.h"

namespace skein {
namespace {

// rows [B*P] and weights [B,P] on the host.
void add_sample_sums(const Tensor& rows, const Tensor& weights, std::vector<double>& into) {
  const int64_t batch = weights.dim(0), places = weights.dim(1);
  const float* weight = weights.data<float>();
  visit_float(rows.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* loss = rows.data<T>();
    for (int64_t sample = 0; sample < batch; ++sample) {
      double sum = 0;
      for (int64_t i = sample * places; i < (sample + 1) * places; ++i)
        sum += static_cast<double>(static_cast<Accumulator<T>>(loss[i])) * weight[i];
      into.push_back(sum);
    }
  });
}

}  // namespace

Pipeline::Pipeline(Mesh& mesh, PipelineModel model, ScheduleKind kind, bool record)
    : mesh_(mesh),
      model_(std::move(model)),
      kind_(kind),
      pieces_{mesh.stage(), mesh.pp().size(), static_cast<int>(model_.pieces.size())} {
  if (!record) return;
  require(model_.device.kind == DeviceKind::cuda && pieces_.count() == 1 && mesh.tp().size() == 1,
          "parallel.cuda_graph records a whole model on one GPU, but here are {} pieces of {} "
          "shards on a {}; leave it out, or use parallel.device=cuda with parallel.pipeline=1, "
          "parallel.chunks=1 and parallel.tensor=1",
          pieces_.count(), mesh.tp().size(),
          model_.device.kind == DeviceKind::cuda ? "GPU" : "CPU");
  recorded_ = std::make_unique<RecordedPass>();
}

void Pipeline::run(const PipelineStep& step, const Pass& pass) {
  const int micro_batches = static_cast<int>(step.micro_batches.size());
  losses_.assign(step.micro_batches.size(), {});
  answers_.clear();
  placed_.clear();
  for (const Batch& batch : step.micro_batches) placed_.push_back(placed(batch, model_.device));
  const auto actions =
      make_schedule(step.train ? kind_ : ScheduleKind::gpipe, mesh_.stage(), mesh_.pp().size(),
                    micro_batches, static_cast<int>(model_.pieces.size()));
  // A profile wants to see each kernel end.
  const bool recorded = step.train && recorded_ && !Profile::running();
  for (int i = 0; recorded && i < micro_batches; ++i) run_recorded(i, step, pass);
  if (recorded) return;
  for (const Action& action : actions) {
    const Within micro_batch = Within::micro_batch(action.micro_batch);
    if (action.kind == Action::forward)
      forward(action, step, pass);
    else if (step.train)
      backward(action, step, pass);
  }
  for (auto& [key, flight] : in_flight_) flight.sent.wait();
  for (auto& [work, tensor] : sending_) work.wait();
  in_flight_.clear();
  sending_.clear();
}

// One copy for all micro-batches, for each would wait for the device.
Tensor Pipeline::loss_rows() const {
  int64_t size = 0, begin = 0;
  for (const RowLosses& losses : losses_) size += losses.rows.size();
  if (size == 0) return {};
  const Tensor there = Tensor::empty({size}, losses_.front().rows.dtype(), model_.device);
  for (const RowLosses& losses : losses_) {
    there.flat(begin, losses.rows.size()).copy_from(losses.rows);
    begin += losses.rows.size();
  }
  return there.to(Device{});
}

std::vector<std::vector<double>> Pipeline::losses() const {
  std::vector<std::vector<double>> all;
  const Tensor rows = loss_rows();
  if (!rows.defined()) return all;
  all.resize(losses_.front().weights.size());
  int64_t begin = 0;
  for (const RowLosses& losses : losses_)
    for (size_t term = 0; term < all.size(); ++term) {
      const Tensor& weights = losses.weights[term];
      add_sample_sums(rows.flat(begin, weights.size()), weights, all[term]);
      begin += weights.size();
    }
  return all;
}

void Pipeline::run_recorded(int micro_batch, const PipelineStep& step, const Pass& pass) {
  const Span span("forward and backward");
  const Batch& batch = placed_[static_cast<size_t>(micro_batch)];
  const Tensor losses =
      recorded_->run(batch,
                     row_weights_of(batch.weights, step.loss_scale,
                                    Tensor::empty({0}, model_.dtype, model_.device)),
                     [&](const Batch& read, const Tensor& row_weights) {
                       LossPass inner{pass};
                       inner.batch = &read;
                       inner.row_weights = row_weights;
                       const Losses made = model_.objective->losses(
                           model_.pieces.front()->forward({}, inner), inner);
                       skein::backward(made.rows, made.row_weights);
                       return made.rows.value();
                     });
  losses_[static_cast<size_t>(micro_batch)] = {losses, {batch.weights}};
  if (step.after_backward) step.after_backward(micro_batch, 0);
}

void Pipeline::forward(const Action& action, const PipelineStep& step, const Pass& pass) {
  const Span span("forward");
  const Batch& batch = placed_[static_cast<size_t>(action.micro_batch)];
  const Model& model = *model_.pieces[static_cast<size_t>(action.chunk)];
  Pass inner = pass;
  inner.batch = &batch;
  std::unique_ptr<NoGrad> no_grad;
  if (!step.train) no_grad = std::make_unique<NoGrad>();
  InFlight flight;
  if (const auto message = pieces_.received(action))
    flight.input =
        entered(receive(*message, model.flow_shape(batch.size(), batch.length())), action.chunk);
  const Var output = model.forward(flight.input, inner);
  flight.output = output;
  if (const auto message = pieces_.sent(action))
    flight.sent = send(output.value(), *message);
  else if (!step.train)
    losses_of(action.micro_batch, output, step, pass);
  if (step.train) {
    in_flight_[{action.micro_batch, action.chunk}] = std::move(flight);
  } else if (!pieces_.last(action.chunk)) {
    sending_.emplace_back(std::move(flight.sent), output.value());
  }
}

// When training they are made when their gradient is wanted: they may add to the head's gradients
// at once, which belong to this micro-batch only then.
Losses Pipeline::losses_of(int micro_batch, const Var& output, const PipelineStep& step,
                           const Pass& pass) {
  LossPass inner{pass};
  inner.batch = &placed_[static_cast<size_t>(micro_batch)];
  inner.loss_scale = step.loss_scale;
  inner.sample_scale = step.sample_scale;
  if (step.answers) answers_.push_back(model_.objective->answers(output, inner));
  if (!step.train && !step.losses) return {};
  Losses losses = model_.objective->losses(output, inner);
  losses_[static_cast<size_t>(micro_batch)] = {losses.rows.value(), losses.weights};
  return losses;
}

Var Pipeline::entered(Tensor flow, int chunk) const {
  return pieces_.number(chunk) > model_.first_learning ? Var::leaf(std::move(flow))
                                                       : Var(std::move(flow));
}

void Pipeline::backward(const Action& action, const PipelineStep& step, const Pass& pass) {
  auto node = in_flight_.extract({action.micro_batch, action.chunk});
  SKEIN_CHECK(!node.empty());
  InFlight flight = std::move(node.mapped());
  if (pieces_.number(action.chunk) < model_.first_learning)
    flight.sent.wait();
  else
    pass_back(action, flight, step, pass);
  if (step.after_backward) step.after_backward(action.micro_batch, action.chunk);
}

void Pipeline::pass_back(const Action& action, InFlight& flight, const PipelineStep& step,
                         const Pass& pass) {
  const Span span("backward");
  if (const auto message = pieces_.received(action)) {
    flight.sent.wait();
    const Tensor gradient = receive(*message, flight.output.shape());
    flight.output.drop_value();
    skein::backward(flight.output, gradient);
  } else {
    const Losses losses = losses_of(action.micro_batch, flight.output, step, pass);
    skein::backward(losses.rows, losses.row_weights);
  }
  const auto message = pieces_.sent(action);
  if (!message || !flight.input.needs_gradient()) return;
  const Tensor gradient = flight.input.gradient();
  sending_.emplace_back(send(gradient, *message), gradient);
}

// Between pieces of one rank a message is handed over.
Work Pipeline::send(const Tensor& tensor, const StageMessage& message) {
  if (message.peer != mesh_.stage()) return mesh_.pp().send(tensor, message.peer, message.tag);
  handed_[message.tag] = tensor;
  return {};
}

Tensor Pipeline::receive(const StageMessage& message, const Shape& shape) {
  if (message.peer == mesh_.stage()) {
    auto node = handed_.extract(message.tag);
    SKEIN_CHECK(!node.empty());
    return node.mapped();
  }
  Tensor tensor = Tensor::empty(shape, model_.dtype, model_.device);
  const Span span("wait for a stage", 0, static_cast<double>(tensor.bytes()));
  mesh_.pp().recv(tensor, message.peer, message.tag).wait();
  return tensor;
}

}  // namespace skein
