// Models whose pieces hand on two tensors, or none, over stages and over pieces of one rank.
#include "skein/parallel/pipeline.h"

#include <algorithm>
#include <mutex>

#include "skein/comm/local.h"
#include "skein/ops/attention.h"
#include "skein/ops/linear.h"
#include "skein/ops/math.h"
#include "skein/tensor/buffer.h"

#include "comm/passing_group.h"
#include "support/gradient_check.h"

namespace skein {
namespace {

constexpr int64_t kWidth = 5;
constexpr int kPieces = 3;

// h' = (h + memory) W; the first piece makes both of the tokens, and all hand the memory on.
class WithMemory : public Model {
 public:
  WithMemory(int number, Parameters& parameters)
      : number_(number), weight_(add(parameters, fmt::format("{}", number))) {
    if (number == 0) memory_ = add(parameters, "memory");
  }

  Flow forward(const Flow& flow, const Pass& pass) const override {
    if (number_ == 0) {
      const Var x(of_tokens(pass.batch->tokens));
      return Flow({ops::linear(x, weight_->weight(), {}), ops::linear(x, memory_->weight(), {})});
    }
    const Var made = ops::linear(ops::add(flow[0], flow[1]), weight_->weight(), {});
    return number_ + 1 == kPieces ? Flow(made) : Flow({made, flow[1]});
  }
  std::vector<FlowPart> flow_parts(const Pass& pass) const override {
    const FlowPart one{{pass.batch->size(), pass.batch->length(), kWidth}, DType::f64};
    return {one, one};
  }
  std::unique_ptr<Objective> objective() const override { return nullptr; }

 private:
  static Parameter* add(Parameters& parameters, const std::string& name) {
    return &parameters.add({name, {kWidth, kWidth}, Split::none, {Start::normal, 0.5}});
  }
  static Tensor of_tokens(const Tensor& tokens) {
    const Tensor made = Tensor::empty({tokens.dim(0), tokens.dim(1), kWidth}, DType::f64);
    for (int64_t i = 0; i < made.size(); ++i)
      made.data<double>()[i] = 0.1 * tokens.data<int32_t>()[i / kWidth] * (i % kWidth + 1);
    return made;
  }

  int number_;
  Parameter* weight_;
  Parameter* memory_ = nullptr;
};

class Classes : public Objective {
 public:
  Losses losses(const Var& output, const LossPass& pass) const override {
    const Tensor &weights = pass.batch->weights, targets = pass.batch->targets.reshape({-1});
    return {ops::cross_entropy(ops::reshape(output, {weights.size(), kWidth}), targets),
            row_weights_of(weights, pass.loss_scale, output.value()),
            {weights}};
  }
  std::vector<Tensor> answers(const Var&, const Pass&) const override { return {}; }
};

data::Batch batch_of(int first) {
  std::vector<int32_t> tokens, targets;
  for (int i = 0; i < 6; ++i) {
    tokens.push_back((first + i) % 7 - 3);
    targets.push_back((first + 2 * i) % kWidth);
  }
  data::Batch batch;
  batch.tokens = Tensor::from(tokens, {2, 3});
  batch.targets = Tensor::from(targets, {2, 3});
  batch.weights = Tensor::from(std::vector<float>(6, 1), {2, 3});
  return batch;
}

using Gradients = std::map<std::string, std::vector<double>>;

Gradients gradients(int stages, ScheduleKind schedule) {
  Gradients all;
  std::mutex mutex;
  run_ranks(stages, [&](Group& world) {
    Mesh mesh(world, {stages, 1, 1});
    Parameters parameters(DType::f64, 0, 1);
    std::vector<std::unique_ptr<Model>> pieces;
    for (int number = mesh.stage(); number < kPieces; number += stages)
      pieces.push_back(std::make_unique<WithMemory>(number, parameters));
    parameters.allocate(true);
    parameters.initialize(4);
    const Classes objective;
    PipelineModel model{{}, &objective, 0, DType::f64, {}};
    for (const auto& piece : pieces) model.pieces.push_back(piece.get());
    Pipeline pipeline(mesh, model, schedule);
    PipelineStep step;
    for (int i = 0; i < 4; ++i) step.micro_batches.push_back(batch_of(3 * i));
    Pass pass;
    pass.tp = &mesh.tp();
    pipeline.run(step, pass);
    const std::lock_guard lock(mutex);
    for (const Parameter& p : parameters.all())
      all[p.name] = {p.gradient.data<double>(), p.gradient.data<double>() + p.gradient.size()};
  });
  return all;
}

TEST(Pipeline, CarriesSeveralTensorsAndTheirGradients) {
  const Gradients alone = gradients(1, ScheduleKind::interleaved);
  ASSERT_EQ(alone.size(), kPieces + 1u);
  for (const auto& [name, values] : alone) EXPECT_NE(values.front(), 0) << name;
  EXPECT_EQ(gradients(kPieces, ScheduleKind::one_f_one_b), alone);
  EXPECT_EQ(gradients(kPieces, ScheduleKind::gpipe), alone);
}

// Pieces that hand on one large tensor.
class Large : public Model {
 public:
  static constexpr int64_t kNumbers = 1 << 15;

  Large(int number, Parameters& parameters)
      : weight_(number > 0
                    ? nullptr
                    : &parameters.add({"w", {kNumbers, 1}, Split::none, {Start::normal, 1}})) {}
  Flow forward(const Flow& flow, const Pass& pass) const override {
    if (!weight_) return ops::scale(flow.only(), 0.5);
    const Tensor one = Tensor::empty({pass.batch->size(), 1}, DType::f64);
    std::ranges::fill(one.span<double>(), 1);
    return ops::linear(Var(one), weight_->weight(), {});
  }
  std::vector<FlowPart> flow_parts(const Pass& pass) const override {
    return {{{pass.batch->size(), kNumbers}, DType::f64}};
  }
  std::unique_ptr<Objective> objective() const override { return nullptr; }

 private:
  Parameter* weight_;
};

class FirstClass : public Objective {
 public:
  Losses losses(const Var& output, const LossPass& pass) const override {
    return {ops::cross_entropy(output, pass.batch->targets.reshape({-1})),
            row_weights_of(pass.batch->weights, pass.loss_scale, output.value()),
            {pass.batch->weights}};
  }
  std::vector<Tensor> answers(const Var&, const Pass&) const override { return {}; }
};

// Bytes of tensors that two stages have at most.
int64_t most_bytes(int micro_batches, ScheduleKind schedule) {
  int64_t most = 0;
  run_ranks(2, [&](Group& world) {
    Mesh mesh(world, {2, 1, 1});
    Parameters parameters(DType::f64, 0, 1);
    const Large piece(mesh.stage(), parameters);
    parameters.allocate(true);
    parameters.initialize(4);
    const FirstClass objective;
    Pipeline pipeline(mesh, {{&piece}, &objective, 0, DType::f64, {}}, schedule);
    PipelineStep step;
    for (int i = 0; i < micro_batches; ++i) {
      data::Batch batch;
      batch.tokens = batch.targets = Tensor::zeros({1, 1}, DType::i32);
      batch.weights = Tensor::from(std::vector<float>{1}, {1, 1});
      step.micro_batches.push_back(batch);
    }
    Pass pass;
    pass.tp = &mesh.tp();
    world.barrier();
    if (world.rank() == 0) reset_peak_memory();
    world.barrier();
    pipeline.run(step, pass);
    world.barrier();
    if (world.rank() == 0) most = memory_use().peak;
  });
  return most;
}

TEST(Pipeline, KeepsNoMoreForMoreMicroBatches) {
  constexpr int64_t kOne = Large::kNumbers * 8;
  const auto grown = [](ScheduleKind schedule) {
    return most_bytes(64, schedule) - most_bytes(8, schedule);
  };
  EXPECT_LT(grown(ScheduleKind::one_f_one_b), 8 * kOne);
  EXPECT_GT(grown(ScheduleKind::gpipe), 40 * kOne) << "which keeps all of them by its nature";
}

using Events = std::vector<std::string>;

// Tells of each receive when it is begun.
class Listening : public test::PassingGroup {
 public:
  Listening(Group& group, Events& events) : PassingGroup(group), events_(events) {}
  Listening(std::unique_ptr<Group> group, Events& events)
      : PassingGroup(std::move(group)), events_(events) {}
  Work recv_bytes(std::byte* data, int64_t bytes, int peer, int tag) override {
    events_.push_back("receive");
    return PassingGroup::recv_bytes(data, bytes, peer, tag);
  }
  std::unique_ptr<Group> split(int color, int key) override {
    return std::make_unique<Listening>(PassingGroup::split(color, key), events_);
  }

 private:
  Events& events_;
};

// Hands on what it gets, and tells of it.
class Telling : public Model {
 public:
  explicit Telling(Events& events) : events_(events) {}
  Flow forward(const Flow& flow, const Pass& pass) const override {
    events_.push_back("forward");
    return flow.empty() ? Flow(Var(Tensor::zeros({pass.batch->size(), 1}, DType::f64))) : flow;
  }
  std::vector<FlowPart> flow_parts(const Pass& pass) const override {
    return {{{pass.batch->size(), 1}, DType::f64}};
  }
  std::unique_ptr<Objective> objective() const override { return nullptr; }

 private:
  Events& events_;
};

TEST(Pipeline, BeginsReceivesOneActionEarly) {
  std::vector<Events> events(2);
  run_ranks(2, [&](Group& world) {
    Events& own = events[static_cast<size_t>(world.rank())];
    Listening listening(world, own);
    Mesh mesh(listening, {2, 1, 1});
    const Telling piece(own);
    const FirstClass objective;
    Pipeline pipeline(mesh, {{&piece}, &objective, 2, DType::f64, {}}, ScheduleKind::gpipe);
    PipelineStep step;
    step.train = step.losses = false;
    for (int i = 0; i < 3; ++i) step.micro_batches.push_back(batch_of(i));
    Pass pass;
    pass.tp = &mesh.tp();
    own.clear();
    pipeline.run(step, pass);
  });
  EXPECT_EQ(events[0], (Events{"forward", "forward", "forward"}));
  EXPECT_EQ(events[1], (Events{"receive", "receive", "forward", "receive", "forward", "forward"}));
}

// Its first pieces have nothing to do, as an encoder's when the source is known; from piece kBegin
// on one is added to the tokens.
class FromTheMiddle : public Model {
 public:
  static constexpr int kBegin = 2, kCount = 4;

  explicit FromTheMiddle(int number) : number_(number) {}
  Flow forward(const Flow& flow, const Pass& pass) const override {
    EXPECT_EQ(flow.empty(), number_ <= kBegin);
    if (number_ < kBegin) return {};
    const Tensor made = flow.empty() ? of_tokens(pass.batch->tokens) : flow.only().value().clone();
    for (double& number : made.span<double>()) ++number;
    return Var(made);
  }
  std::vector<FlowPart> flow_parts(const Pass& pass) const override {
    if (number_ <= kBegin) return {};
    return {{{pass.batch->size(), pass.batch->length()}, DType::f64}};
  }
  std::unique_ptr<Objective> objective() const override { return nullptr; }

 private:
  static Tensor of_tokens(const Tensor& tokens) {
    const Tensor made = Tensor::empty(tokens.shape(), DType::f64);
    std::ranges::copy(tokens.span<int32_t>(), made.data<double>());
    return made;
  }

  int number_;
};

class Output : public Objective {
 public:
  Losses losses(const Var&, const LossPass&) const override { return {}; }
  std::vector<Tensor> answers(const Var& output, const Pass&) const override {
    return {output.value()};
  }
};

TEST(Pipeline, PassesWhereSomePiecesHaveNothingToHandOn) {
  for (int stages : {1, 2, 4}) {
    int answered = 0;
    run_ranks(stages, [&](Group& world) {
      Mesh mesh(world, {stages, 1, 1});
      std::vector<FromTheMiddle> pieces;
      for (int number = mesh.stage(); number < FromTheMiddle::kCount; number += stages)
        pieces.emplace_back(number);
      const Output objective;
      PipelineModel model{{}, &objective, 0, DType::f64, {}};
      for (const Model& piece : pieces) model.pieces.push_back(&piece);
      Pipeline pipeline(mesh, model, ScheduleKind::gpipe);
      PipelineStep step;
      step.train = step.losses = false;
      step.answers = true;
      for (int i = 0; i < 3; ++i) step.micro_batches.push_back(batch_of(3 * i));
      Pass pass;
      pass.tp = &mesh.tp();
      for (int run = 0; run < 2; ++run) pipeline.run(step, pass);
      if (mesh.stage() + 1 < stages) return;
      ASSERT_EQ(pipeline.answers().size(), 3u);
      for (int i = 0; i < 3; ++i, ++answered)
        for (int64_t t = 0; t < 6; ++t)
          EXPECT_EQ(pipeline.answers()[static_cast<size_t>(i)][0].data<double>()[t],
                    batch_of(3 * i).tokens.data<int32_t>()[t] + 2);
    });
    EXPECT_EQ(answered, 3) << stages;
  }
}

}  // namespace
}  // namespace skein
