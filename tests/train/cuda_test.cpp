// Training on a GPU against training on the CPU; skipped where there is no GPU, real or emulated.
#include "skein/tensor/cuda.h"

#include <gtest/gtest.h>

#include "train/train_fixture.h"

namespace skein::train {
namespace {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
    write_small_store(folder_.file("train.h5"));
  }
  PretrainConfig config(DeviceKind device) const {
    PretrainConfig c = small_config(folder_.file("train.h5"));
    c.model.n_layers = 2;
    c.train.steps = 4;
    c.train.global_batch = 8;  // an emulated GPU does a hundred tokens a second
    c.train.precision = DType::f32;
    c.parallel.device = device;
    return c;
  }
  static void make_llama(ModelConfig& model) {
    model.activation = MlpKind::swiglu;
    model.norm = ops::Norm::rms;
    model.positions = Positions::rotary;
    model.n_kv_heads = 2;
  }
  static void expect_near(const std::vector<double>& found, const std::vector<double>& wanted,
                          double tolerance) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], wanted[i], tolerance) << "step " << i;
  }

  test::Scratch folder_;
};

TEST_F(OnGpu, LossesFollowTheCpu) {
  for (DType precision : {DType::f32, DType::bf16, DType::f16})
    for (bool llama : {false, true}) {
      PretrainConfig cpu = config(DeviceKind::cpu);
      cpu.train.precision = precision;
      if (llama) make_llama(cpu.model);
      PretrainConfig gpu = cpu;
      gpu.parallel.device = DeviceKind::cuda;
      const std::string name = fmt::format("{}_{}", name_of(precision), llama);
      const Finished wanted = train(cpu, 1, folder_, "cpu" + name),
                     found = train(gpu, 1, folder_, "gpu" + name);
      expect_near(found.losses, wanted.losses, precision == DType::f32 ? 2e-5 : 3e-2);
      expect_near(found.grad_norms, wanted.grad_norms, precision == DType::f32 ? 2e-4 : 5e-2);
    }
}

TEST_F(OnGpu, EncodersFollowTheCpu) {
  test::write_sentence_store(folder_.file("sentences.h5"));
  PretrainConfig cpu = encoder_config(folder_.file("sentences.h5"));
  cpu.model.n_layers = 2;
  cpu.train.steps = 3;
  cpu.train.global_batch = 8;
  cpu.validation.eval.windows = 8;
  cpu.train.precision = DType::f32;
  PretrainConfig gpu = cpu;
  gpu.parallel.device = DeviceKind::cuda;
  const Finished wanted = train(cpu, 1, folder_, "cpu"), found = train(gpu, 1, folder_, "gpu");
  expect_near(found.losses, wanted.losses, 2e-5);
  expect_near(found.grad_norms, wanted.grad_norms, 2e-4);
  for (const auto& [name, value] : wanted.validation)
    EXPECT_NEAR(found.validation.at(name), value, 1e-4) << name;
}

TEST_F(OnGpu, ParallelLayoutsFollowTheCpu) {
  const Finished wanted = train(config(DeviceKind::cpu), 1, folder_, "cpu");
  struct Layout {
    int pipeline, tensor, data;
    bool zero, sequence;
    Recompute recompute;
  };
  int number = 0;
  for (const Layout& l : {Layout{1, 1, 2, true, false, Recompute::none},
                          {2, 1, 1, false, false, Recompute::full},
                          {1, 2, 1, false, true, Recompute::selective}}) {
    PretrainConfig c = config(DeviceKind::cuda);
    c.parallel.pipeline = l.pipeline;
    c.parallel.tensor = l.tensor;
    c.parallel.zero = l.zero;
    c.parallel.sequence = l.sequence;
    c.parallel.recompute = l.recompute;
    const Finished found =
        train(c, l.pipeline * l.tensor * l.data, folder_, fmt::format("gpu{}", number++));
    expect_near(found.losses, wanted.losses, 2e-5);
  }
}

TEST_F(OnGpu, TheSameBitsAgain) {
  const Finished first = train(config(DeviceKind::cuda), 1, folder_, "first"),
                 second = train(config(DeviceKind::cuda), 1, folder_, "second");
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first_difference(first.state, second.state), "");
}

// Parts of a group, whole groups, and several of them.
TEST_F(OnGpu, MicroBatchesOfAnySizeGiveTheSameBits) {
  for (DType precision : {DType::f32, DType::bf16})
    for (bool llama : {false, true}) {
      PretrainConfig c = config(DeviceKind::cuda);
      c.train.precision = precision;
      c.train.steps = 2;
      c.parallel.reduction_groups = 2;
      c.parallel.equal_micro_batches = true;
      if (llama) make_llama(c.model);
      c.train.micro_batch = 1;
      const std::string name = fmt::format("{}_{}", name_of(precision), llama);
      const Finished wanted = train(c, 1, folder_, name);
      for (int64_t samples : {2, 4, 8}) {
        c.train.micro_batch = samples;
        const Finished found = train(c, 1, folder_, fmt::format("{}_{}", name, samples));
        EXPECT_EQ(found.losses, wanted.losses) << name << " " << samples;
        EXPECT_EQ(first_difference(found.state, wanted.state), "") << name << " " << samples;
      }
    }
}

TEST_F(OnGpu, RecordedGraphsGiveTheSameBits) {
  PretrainConfig c = config(DeviceKind::cuda);
  c.model.dropout = 0;
  c.train.micro_batch = 2;
  c.data.mask_document_ends = true;
  const Finished wanted = train(c, 1, folder_, "plain");
  c.parallel.cuda_graph = true;
  const Finished found = train(c, 1, folder_, "recorded");
  EXPECT_EQ(found.losses, wanted.losses);
  EXPECT_EQ(first_difference(found.state, wanted.state), "");
  c.model.attention.kinds = {"fixed", "window"};
  c.model.attention.windows = {4};
  EXPECT_THROW(train(c, 1, folder_, "lists"), Error);
  c.model.attention = {};
  c.model.dropout = 0.1;
  EXPECT_THROW(train(c, 1, folder_, "dropout"), Error);
}

// Two steps on the GPU, then two on the CPU.
TEST_F(OnGpu, AutoPrecisionIsBf16AndFollowsTheDevice) {
  PretrainConfig c = config(DeviceKind::cuda);
  c.train.steps = 2;
  c.train.precision = DType::bf16;
  const Finished wanted = train(c, 1, folder_, "asked");
  c.train.precision = {};
  const Finished found = train(c, 1, folder_, "auto");
  EXPECT_EQ(found.losses, wanted.losses);
  EXPECT_EQ(first_difference(found.state, wanted.state), "");
  c.train.steps = 4;
  c.parallel.device = DeviceKind::cpu;
  testing::internal::CaptureStderr();
  EXPECT_EQ(train(c, 1, folder_, "auto").losses.size(), 2u);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("train.precision: bf16 -> f32"), std::string::npos) << said;
  EXPECT_NE(said.find("parallel.device: cuda -> cpu"), std::string::npos) << said;
}

TEST_F(OnGpu, CheckpointsMoveBetweenDevices) {
  PretrainConfig c = config(DeviceKind::cuda);
  c.train.steps = 2;
  train(c, 1, folder_, "moved");
  c.train.steps = 4;
  c.parallel.device = DeviceKind::cpu;
  const Finished found = train(c, 1, folder_, "moved"),
                 wanted = train(config(DeviceKind::cpu), 1, folder_, "stayed");
  expect_near(found.losses, {wanted.losses.begin() + 2, wanted.losses.end()}, 2e-5);
}

}  // namespace
}  // namespace skein::train
