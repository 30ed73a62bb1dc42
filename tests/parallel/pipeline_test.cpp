// A model whose pieces hand two tensors on, over stages and over pieces of one rank.
#include "skein/parallel/pipeline.h"

#include <mutex>

#include "skein/comm/local.h"
#include "skein/ops/attention.h"
#include "skein/ops/linear.h"

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
    const FlowPart one{{pass.batch->size(), pass.batch->length(), kWidth}, DType::f32};
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

}  // namespace
}  // namespace skein
