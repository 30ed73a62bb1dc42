// Invariants of a run.
//
// Order: each stage carries out its own list of the same schedule, in order. A send never waits for
// its receiver, so nobody waits but for a message that its sender's list makes. Backward of a piece
// comes in rising order of micro-batch: its gradients are a fold in sample order. The last piece
// makes its losses in backward, since the head's gradient grows while they are made.
//
// Messages: a tag names micro-batch and receiving piece; the tensors of a flow follow each other
// under it. None says its shapes: in forward the receiver asks its piece (Model::flow_parts), in
// backward it knows what it sent. Pieces before first_learning neither send nor await gradients.
// Receives are begun in the order of the list, one action before their own where the shapes are
// known by then, so that what comes need not wait for what is being computed.
//
// Memory: in_flight_ keeps a piece's input and output from its forward to its backward. The values
// of an output are dropped once they are sent and their gradient has come, before backward runs;
// what else is sent stays in sending_, of gradients most_sending() messages at most; asked_ holds
// what was asked for and not taken, two messages at most. When run()
// returns nothing is under way, nor kept in these.
#include "skein/parallel/pipeline.h"

#include <algorithm>

#include "skein/core/profile.h"
#include "skein/core/where.h"
#include "skein/ops/sample_groups.h"

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

void wait(std::vector<Work>& all) {
  for (Work& one : all) one.wait();
}

std::vector<Tensor> values_of(const Flow& flow) {
  std::vector<Tensor> made;
  for (const Var& one : flow) made.push_back(one.value());
  return made;
}

std::vector<FlowPart> parts_of(const Flow& flow) {
  std::vector<FlowPart> made;
  for (const Var& one : flow) made.push_back({one.shape(), one.value().dtype()});
  return made;
}

bool wants_gradients(const Flow& flow) { return !flow.empty() && flow[0].needs_gradient(); }

// Zeros for what this piece and those after it have no use for: the piece before waits for as many
// as it has sent.
std::vector<Tensor> gradients_of(const Flow& flow) {
  std::vector<Tensor> made;
  for (const Var& one : flow) {
    const Tensor& found = one.gradient();
    made.push_back(found.defined()
                       ? found
                       : Tensor::zeros(one.shape(), one.value().dtype(), one.value().device()));
  }
  return made;
}

}  // namespace

Pipeline::Pipeline(Mesh& mesh, PipelineModel model, ScheduleKind kind, bool record)
    : mesh_(mesh),
      model_(std::move(model)),
      kind_(kind),
      pieces_{mesh.stage(), mesh.pp().size(), static_cast<int>(model_.pieces.size())} {
  if (!record) return;
  SKEIN_CHECK(model_.device.kind == DeviceKind::cuda && pieces_.count() == 1 &&
              mesh.tp().size() == 1);
  recorded_ = std::make_unique<RecordedPass>();
}

namespace {

ops::SampleGroups groups_of(const PipelineStep& step, const data::Batch& batch) {
  const int groups = step.groups_per_micro_batch;
  return ops::SampleGroups(groups, step.sample_by_sample ? batch.tokens.dim(0) / groups : 0);
}

}  // namespace

// One micro-batch's forward and backward through a piece, on zeros for what another stage would
// send.
void Pipeline::run_alone(const PipelineStep& step, const Pass& pass, int chunk) {
  const Model& model = *model_.pieces[chunk];
  Pass inner = pass;
  inner.batch = &placed_.front();
  std::unique_ptr<NoGrad> no_grad;
  const bool learns = step.train && pieces_.number(chunk) >= model_.first_learning;
  if (!learns) no_grad = std::make_unique<NoGrad>();
  const auto zeros = [&](const std::vector<FlowPart>& parts) {
    std::vector<Tensor> made;
    for (const FlowPart& part : parts)
      made.push_back(Tensor::zeros(part.shape, part.dtype, model_.device));
    return made;
  };
  Flow input;
  if (!pieces_.first(chunk)) input = entered(zeros(model.flow_parts(inner)), chunk);
  const Flow output = model.forward(input, inner);
  if (pieces_.last(chunk)) {
    const Losses losses = losses_of(0, output.only(), step, pass);
    if (learns) skein::backward(losses.rows, losses.row_weights);
  } else if (learns) {
    skein::backward({output.begin(), output.end()}, zeros(parts_of(output)));
  }
}

void Pipeline::warm_up(const PipelineStep& step, const Pass& pass) {
  if (model_.device.kind != DeviceKind::cuda || mesh_.pp().size() == 1) return;
  for (const data::Batch& batch : step.micro_batches) {
    std::string shapes = fmt::format("{} {} {}", step.train, step.answers, step.losses);
    for (const Tensor* of : {&batch.tokens, &batch.targets, &batch.source.tokens})
      if (of->defined()) shapes += of->shape().str();
    if (!warm_.insert(shapes).second) continue;
    const ops::SampleGroups groups = groups_of(step, batch);
    placed_ = {placed(batch, model_.device)};
    losses_.assign(1, {});
    for (int chunk = 0; chunk < pieces_.chunks; ++chunk) run_alone(step, pass, chunk);
  }
}

void Pipeline::run(const PipelineStep& step, const Pass& pass) {
  // A cache would keep the zeros; decoding goes down a chain of stages, where nobody waits in turn.
  if (!step.train && !pass.cache && !pass.watcher) warm_up(step, pass);
  const int micro_batches = static_cast<int>(step.micro_batches.size());
  losses_.assign(step.micro_batches.size(), {});
  answers_.clear();
  placed_.clear();
  for (const data::Batch& batch : step.micro_batches)
    placed_.push_back(placed(batch, model_.device));
  const auto actions =
      make_schedule(step.train ? kind_ : ScheduleKind::gpipe, mesh_.stage(), mesh_.pp().size(),
                    micro_batches, static_cast<int>(model_.pieces.size()));
  // A profile wants to see each kernel end.
  const bool recorded = step.train && recorded_ && !Profile::running();
  const ops::SampleGroups groups = groups_of(step, step.micro_batches.front());
  for (int i = 0; recorded && i < micro_batches; ++i) run_recorded(i, step, pass);
  if (recorded) return;
  for (size_t i = 0; i < actions.size(); ++i) {
    const Action& action = actions[i];
    const WhereScope micro_batch = WhereScope::micro_batch(action.micro_batch);
    for (size_t next = i; next < std::min(i + 2, actions.size()); ++next)
      ask_for(actions[next], step, pass);
    if (action.kind == Action::forward)
      forward(action, step, pass);
    else if (step.train)
      backward(action, step, pass);
  }
  for (auto& [key, flight] : in_flight_) wait(flight.sent);
  for (Message& message : sending_) wait(message.sent);
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
  const data::Batch& batch = placed_[micro_batch];
  const Tensor losses =
      recorded_->run(batch,
                     row_weights_of(batch.weights, step.loss_scale,
                                    Tensor::empty({0}, model_.dtype, model_.device)),
                     [&](const data::Batch& read, const Tensor& row_weights) {
                       LossPass inner{pass};
                       inner.batch = &read;
                       inner.row_weights = row_weights;
                       const Losses made = model_.objective->losses(
                           model_.pieces.front()->forward({}, inner).only(), inner);
                       skein::backward(made.rows, made.row_weights);
                       return made.rows.value();
                     });
  losses_[micro_batch] = {losses, {batch.weights}};
  if (step.gradients_done) step.gradients_done(micro_batch, 0, 0);
}

void Pipeline::forward(const Action& action, const PipelineStep& step, const Pass& pass) {
  const Span span("forward");
  const data::Batch& batch = placed_[action.micro_batch];
  const Model& model = *model_.pieces[action.chunk];
  Pass inner = pass;
  inner.batch = &batch;
  if (step.train && step.gradients_done)
    inner.gradients_done = [&step, micro_batch = action.micro_batch, chunk = action.chunk](
                               int bucket) { step.gradients_done(micro_batch, chunk, bucket); };
  std::unique_ptr<NoGrad> no_grad;
  if (!step.train) no_grad = std::make_unique<NoGrad>();
  Flight flight;
  if (const auto message = pieces_.received(action))
    flight.input = entered(receive(*message, model.flow_parts(inner)), action.chunk);
  flight.output = model.forward(flight.input, inner);
  if (const auto message = pieces_.sent(action))
    flight.sent = send(values_of(flight.output), *message);
  else if (!step.train)
    losses_of(action.micro_batch, flight.output, step, pass);
  if (step.train)
    in_flight_[{action.micro_batch, action.chunk}] = std::move(flight);
  else if (!pieces_.last(action.chunk))
    sending_.push_back({std::move(flight.sent), values_of(flight.output)});
}

// When training they are made when their gradient is wanted: they may add to the head's gradients
// at once, which belong to this micro-batch only then.
Losses Pipeline::losses_of(int micro_batch, const Var& output, const PipelineStep& step,
                           const Pass& pass) {
  LossPass inner{pass};
  inner.batch = &placed_[micro_batch];
  inner.loss_scale = step.loss_scale;
  inner.sample_scale = step.sample_scale;
  if (step.answers) answers_.push_back(model_.objective->answers(output, inner));
  if (!step.train && !step.losses) return {};
  Losses losses = model_.objective->losses(output, inner);
  losses_[micro_batch] = {losses.rows.value(), losses.weights};
  return losses;
}

Flow Pipeline::entered(std::vector<Tensor> received, int chunk) const {
  std::vector<Var> all;
  for (Tensor& one : received)
    all.push_back(pieces_.number(chunk) > model_.first_learning ? Var::leaf(std::move(one))
                                                                : Var(std::move(one)));
  return Flow(std::move(all));
}

void Pipeline::backward(const Action& action, const PipelineStep& step, const Pass& pass) {
  auto node = in_flight_.extract({action.micro_batch, action.chunk});
  SKEIN_CHECK(!node.empty());
  Flight flight = std::move(node.mapped());
  if (pieces_.number(action.chunk) < model_.first_learning)
    wait(flight.sent);
  else
    pass_back(action, flight, step, pass);
  if (step.gradients_done) step.gradients_done(action.micro_batch, action.chunk, 0);
}

// What a piece hands on as it came it may still read itself.
void Pipeline::drop_sent(const Flight& flight) {
  for (const Var& one : flight.output)
    if (std::none_of(flight.input.begin(), flight.input.end(),
                     [&](const Var& input) { return input.is(one); }))
      one.drop_value();
}

void Pipeline::pass_back(const Action& action, Flight& flight, const PipelineStep& step,
                         const Pass& pass) {
  const Span span("backward");
  if (const auto message = pieces_.received(action)) {
    wait(flight.sent);
    const auto gradients = receive(*message, parts_of(flight.output));
    drop_sent(flight);
    // A first piece of a frozen embedding alone has nothing that learns.
    if (std::ranges::any_of(flight.output, &Var::needs_gradient))
      skein::backward({flight.output.begin(), flight.output.end()}, gradients);
  } else {
    const Losses losses = losses_of(action.micro_batch, flight.output, step, pass);
    skein::backward(losses.rows, losses.row_weights);
  }
  const auto message = pieces_.sent(action);
  if (!message || !wants_gradients(flight.input)) return;
  std::vector<Tensor> gradients = gradients_of(flight.input);
  auto sent = send(gradients, *message);
  sending_.push_back({std::move(sent), std::move(gradients)});
  for (; std::ssize(sending_) > most_sending(kind_, pieces_.stages); sending_.pop_front())
    wait(sending_.front().sent);
}

// The tensors of a message go one after the other under its tag. Between pieces of one rank they
// are handed over.
std::vector<Work> Pipeline::send(const std::vector<Tensor>& tensors, const StageMessage& message) {
  std::vector<Work> sent;
  if (message.peer == mesh_.stage())
    handed_[message.tag] = tensors;
  else
    for (const Tensor& tensor : tensors)
      sent.push_back(mesh_.pp().send(tensor, message.peer, message.tag));
  return sent;
}

void Pipeline::ask_for(const Action& action, const PipelineStep& step, const Pass& pass) {
  const auto message = pieces_.received(action);
  if (!message || message->peer == mesh_.stage() || asked_.contains(message->tag)) return;
  if (action.kind == Action::forward) {
    Pass inner = pass;
    inner.batch = &placed_[action.micro_batch];
    return ask_for(*message, model_.pieces[action.chunk]->flow_parts(inner));
  }
  const auto flight = in_flight_.find({action.micro_batch, action.chunk});
  if (step.train && flight != in_flight_.end() &&
      pieces_.number(action.chunk) >= model_.first_learning)
    ask_for(*message, parts_of(flight->second.output));
}

void Pipeline::ask_for(const StageMessage& message, const std::vector<FlowPart>& parts) {
  Asked& made = asked_[message.tag];
  for (const FlowPart& part : parts) {
    made.tensors.push_back(Tensor::empty(part.shape, part.dtype, model_.device));
    made.coming.push_back(mesh_.pp().recv(made.tensors.back(), message.peer, message.tag));
  }
}

std::vector<Tensor> Pipeline::receive(const StageMessage& message,
                                      const std::vector<FlowPart>& parts) {
  if (message.peer == mesh_.stage()) {
    auto node = handed_.extract(message.tag);
    SKEIN_CHECK(!node.empty());
    return std::move(node.mapped());
  }
  if (!asked_.contains(message.tag)) ask_for(message, parts);
  Asked asked = std::move(asked_.extract(message.tag).mapped());
  for (size_t i = 0; i < asked.coming.size(); ++i) {
    const Span span("wait for a stage", 0, static_cast<double>(asked.tensors[i].bytes()));
    asked.coming[i].wait();
  }
  return std::move(asked.tensors);
}

}  // namespace skein
