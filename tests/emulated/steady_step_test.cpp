// What a training step on a GPU asks of the driver, once it runs.
#include <gtest/gtest.h>

#include "skein/models/gpt/gpt.h"
#include "skein/rlhf/policy/episodes.h"
#include "skein/rlhf/policy/objective.h"
#include "skein/train/replica.h"

#include "support/emulated_device.h"
#include "train/train_fixture.h"

namespace skein {
namespace {

constexpr int64_t kFirst = 3, kSteps = 2;

// What is learnt, and from what.
struct Lesson {
  data::Batch batch;
  train::Learning learning = {};
};

// By kSteps steps after the first kFirst.
emulation::DriverCalls calls_of_steps(const train::PretrainConfig& c, const Lesson& lesson) {
  emulation::DriverCalls made;
  run_ranks(1, [&](Group& world) {
    const MeshShape shape = mesh_shape(c.parallel, world.size());
    Mesh mesh(world, shape);
    train::Replica replica(c,
                           plan_batch(c.parallel, shape, c.train.global_batch, c.train.micro_batch),
                           mesh, lesson.learning);
    const data::Batch& batch = lesson.batch;
    int64_t step = 0;
    for (; step < kFirst; ++step) replica.step(batch, step, 1e-4);
    const emulation::DriverCalls before = emulation::driver_calls();
    for (; step < kFirst + kSteps; ++step) replica.step(batch, step, 1e-4);
    const emulation::DriverCalls after = emulation::driver_calls();
    made = {after.device_memory - before.device_memory, after.host_memory - before.host_memory,
            after.waits - before.waits, after.copies_to_host - before.copies_to_host,
            after.graphs - before.graphs};
  });
  EXPECT_GT(emulation::driver_calls().device_memory, 0);
  EXPECT_GT(emulation::driver_calls().host_memory, 0);
  return made;
}

// Eight micro-batches a step, in four groups of the sum.
train::PretrainConfig config_on_gpu() {
  train::PretrainConfig c = train::small_config("");
  c.model.vocab_size = 64;
  c.model.n_layers = 2;
  c.train.global_batch = 8;
  c.parallel.device = DeviceKind::cuda;
  return c;
}

// For the gradient norm, then for the losses of all micro-batches: each is a copy to the host,
// which waits.
void expect_steady(const train::PretrainConfig& config, const Lesson& lesson,
                   const std::string& what) {
  const emulation::DriverCalls made = calls_of_steps(config, lesson);
  EXPECT_EQ(made.device_memory, 0) << what;
  EXPECT_EQ(made.host_memory, 0) << what;
  EXPECT_EQ(made.copies_to_host, 2 * kSteps) << what;
  EXPECT_EQ(made.waits, 2 * kSteps) << what;
  EXPECT_EQ(made.graphs, 0) << what;
}

void expect_steady(const train::PretrainConfig& config, const std::string& what) {
  expect_steady(config, {train::some_batch(config.train.global_batch, config.model)}, what);
}

TEST(SteadyGpuStep, TakesNothingAndWaitsTwiceAtItsEnd) {
  for (DType precision : {DType::f32, DType::bf16, DType::f16}) {
    train::PretrainConfig c = config_on_gpu();
    c.train.precision = precision;
    c.parallel.recompute = precision == DType::bf16 ? Recompute::full : Recompute::none;
    expect_steady(c, std::string(name_of(precision)));
  }
}

TEST(SteadyGpuStep, OfALlamaWithRandomRoundingDoesTheSame) {
  train::PretrainConfig c = config_on_gpu();
  c.model.activation = MlpKind::swiglu;
  c.model.norm = ops::Norm::rms;
  c.model.positions = Positions::rotary;
  c.model.n_kv_heads = 2;
  c.optimizer.stochastic_rounding = true;
  expect_steady(c, "llama");
}

TEST(SteadyGpuStep, OfARecordedGraphDoesTheSame) {
  train::PretrainConfig c = config_on_gpu();
  c.model.dropout = 0;
  c.parallel.cuda_graph = true;
  expect_steady(c, "graph");
}

std::vector<rlhf::policy::Episode> some_answers(int64_t count) {
  std::vector<rlhf::policy::Episode> made(static_cast<size_t>(count));
  for (int32_t i = 0; i < static_cast<int32_t>(count); ++i) {
    rlhf::policy::Episode& one = made[static_cast<size_t>(i)];
    one.prompt.tokens = {1 + i, 3};
    for (int32_t token = 0; token < 2 + i % 3; ++token) {
      one.tokens.push_back(5 + i + 7 * token);
      // A fresh model has -log 64 = -4.16 of every token.
      one.path.logp.push_back(std::vector{-4.2, -2.5, -6.0}[static_cast<size_t>(i + token) % 3]);
      one.path.ref_logp.push_back(-3);
      one.path.values.push_back(0.2 * i - 0.7);
      one.path.advantages.push_back(token % 2 ? 0.8 : -1.1);
      one.path.returns.push_back(0.5 - 0.1 * i);
    }
  }
  return made;
}

// Of answers that a policy has sampled, by all that it can learn from them.
Lesson policy_lesson(const train::PretrainConfig& c) {
  rlhf::policy::PolicyRules rules;
  rules.distribution = {0.8, {60, 61}};
  rules.entropy = 0.1;
  rules.kl = 0.3;
  rules.shared = true;
  const std::vector<rlhf::policy::Episode> answers = some_answers(c.train.global_batch);
  const rlhf::policy::EpisodeSamples samples(answers, c.model.context, 4);
  return {samples.batch(0, c.train.global_batch),
          {[rules](const LocalModel& model) {
             return std::make_unique<rlhf::policy::PolicyObjective>(*model.predictor(),
                                                                    model.value_head(), rules);
           },
           rlhf::policy::PolicyObjective::terms(rules)}};
}

std::vector<double> first_terms(train::PretrainConfig c, DeviceKind device) {
  c.parallel.device = device;
  std::vector<double> made;
  run_ranks(1, [&](Group& world) {
    const MeshShape shape = mesh_shape(c.parallel, world.size());
    Mesh mesh(world, shape);
    const Lesson lesson = policy_lesson(c);
    train::Replica replica(c,
                           plan_batch(c.parallel, shape, c.train.global_batch, c.train.micro_batch),
                           mesh, lesson.learning);
    made = replica.step(lesson.batch, 0, 1e-4).terms;
    made.push_back(replica.step(lesson.batch, 1, 1e-4).grad_norm);
  });
  return made;
}

// What tokens cost a policy hangs on what the head makes of them, and stays where that is made.
TEST(SteadyGpuStep, OfAPolicyDoesTheSame) {
  train::PretrainConfig c = config_on_gpu();
  c.model.dropout = 0;
  c.model.own.get<GptOptions>().value_head = true;
  c.train.precision = DType::f32;
  expect_steady(c, policy_lesson(c), "policy");
  const std::vector<double> found = first_terms(c, DeviceKind::cuda),
                            wanted = first_terms(c, DeviceKind::cpu);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-4 * (1 + std::abs(wanted[i]))) << i;
}

}  // namespace
}  // namespace skein
