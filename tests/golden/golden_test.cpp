// Logits, loss and every gradient against PyTorch's (tools/make_golden.py), on one rank and over
// tensor-parallel shards.
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "skein/comm/local.h"
#include "skein/kernels/elementwise.h"
#include "skein/models/gpt/gpt.h"
#include "skein/tensor/cuda.h"

#include "golden/golden_file.h"

namespace skein {
namespace {

using test::error_of;
using test::Golden;
using test::kTolerance;
using test::part_of;

ModelConfig config_of(const Golden& golden) {
  ModelConfig c;
  Options options("golden", "");
  bind(options, c);
  for (const char* key :
       {"vocab_size", "context", "d_model", "n_layers", "n_heads", "n_kv_heads", "d_head", "d_ff"})
    options.set(std::string("model.") + key, std::to_string(golden.number(key)), "golden");
  for (const char* key : {"positions", "norm", "norm_placement", "activation"})
    options.set(std::string("model.") + key, golden.text(key), "golden");
  for (const char* key : {"bias", "tie_embeddings"})
    options.set(std::string("model.") + key, golden.number(key) ? "true" : "false", "golden");
  c.rope_theta = golden.real("rope_theta");
  c.norm_epsilon = golden.real("norm_epsilon");
  return c;
}

data::Batch batch_of(const Golden& golden) {
  data::Batch batch;
  batch.tokens = golden.tensor<int32_t>("tokens");
  batch.targets = golden.tensor<int32_t>("targets");
  batch.weights = golden.tensor<float>("weights");
  batch.positions = golden.tensor<int32_t>("positions");
  batch.sample_ids = Tensor::from(std::vector<int64_t>{0, 1, 2}, {3});
  if (golden.number("documents")) batch.segments = golden.tensor<int32_t>("segments");
  return batch;
}

// All of a file, read before ranks begin.
struct Reference {
  explicit Reference(const Golden& golden)
      : config(config_of(golden)),
        batch(batch_of(golden)),
        logits(golden.tensor<float>("logits")),
        loss(golden.tensor<double>("loss").data<double>()[0]) {
    Parameters all(DType::f32, 0, 1);
    const Gpt model(config, whole(), false, all);
    for (const Parameter& p : all.all()) {
      if (p.tied()) continue;
      values[p.name] = golden.tensor<float>("value:" + p.name);
      gradients[p.name] = golden.tensor<float>("gradient:" + p.name);
    }
    const size_t others = 7;  // tokens, targets, weights, positions, segments, logits, loss
    EXPECT_EQ(golden.tensors(), others + 2 * values.size())
        << "PyTorch's model has other parameters";
  }
  ModelPiece whole() const { return {0, static_cast<int>(config.n_layers), true, true, 0}; }

  ModelConfig config;
  data::Batch batch;
  Tensor logits;
  double loss;
  std::map<std::string, Tensor> values, gradients;
};

void check_logits(const Reference& reference, const Tensor& found, const ops::VocabShard& shard,
                  Group& tp) {
  EXPECT_EQ(found.dim(0), reference.batch.tokens.size());
  EXPECT_EQ(tp.sum(shard.valid), reference.config.vocab_size);
  std::vector<float> here, wanted;
  for (int64_t row = 0; row < found.dim(0); ++row)
    for (int64_t j = 0; j < shard.valid; ++j) {
      here.push_back(found.data<float>()[row * found.dim(1) + j]);
      const int64_t column = shard.first_id + j;
      wanted.push_back(reference.logits.data<float>()[row * reference.config.vocab_size + column]);
    }
  EXPECT_LT(error_of(here, wanted), kTolerance);
}

// Sums of gradients that nearly cancel each other show in which order a GPU adds.
double gradient_tolerance(Device device) {
  return device.kind == DeviceKind::cuda ? 5 * kTolerance : kTolerance;
}

void check_gradients(const Reference& reference, const Parameters& parameters, Group& tp) {
  for (const Parameter& p : parameters.all()) {
    if (p.tied()) continue;
    const Tensor gradient = p.gradient.to(Device{}).clone();
    for (const Parameter& second : parameters.all())
      if (second.tied_to == p.name)
        on_device(Device{}, [&](auto device) {
          kernels::accumulate(device, second.gradient.to(Device{}), Out(gradient));
        });
    if (p.sum_over_shards) tp.all_reduce_sum(gradient).wait();
    const std::vector<float> wanted = part_of(p, reference.gradients.at(p.name));
    EXPECT_LT(error_of(gradient.span<float>(), wanted), gradient_tolerance(p.gradient.device()))
        << p.name;
  }
}

void check_rank(const Reference& reference, Group& tp, bool sequence_parallel, Device device) {
  Parameters parameters(DType::f32, tp.rank(), tp.size(), device);
  const Gpt model(reference.config, reference.whole(), sequence_parallel, parameters);
  parameters.allocate(true);
  for (const Parameter& p : parameters.all())
    if (!p.tied())
      p.value.copy_from(Tensor::from(part_of(p, reference.values.at(p.name)), p.local));
  LossPass pass;
  pass.tp = &tp;
  pass.sequence_parallel = sequence_parallel;
  const data::Batch batch = placed(reference.batch, device);
  pass.batch = &batch;
  pass.train = true;
  const auto weights = reference.batch.weights.span<float>();
  const double counted = std::accumulate(weights.begin(), weights.end(), 0.0);
  pass.loss_scale = 1 / counted;
  const Var features = model.forward({}, pass);
  check_logits(reference, model.logits(features.value()).to(Device{}), model.vocab_shard(), tp);
  const Losses losses = model.objective()->losses(features, pass);
  const Tensor rows = losses.rows.value().to(Device{});
  double loss = 0;
  for (size_t i = 0; i < weights.size(); ++i) loss += weights[i] * rows.span<float>()[i] / counted;
  EXPECT_NEAR(loss / reference.loss, 1, kTolerance);
  backward(losses.rows, losses.row_weights);
  check_gradients(reference, parameters, tp);
}

const std::set<std::string> kCases = {"documents", "gpt2", "gpt_post_erf", "llama", "relu_rms"};

TEST(GoldenFiles, AreTheOnesTested) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("golden"))
    if (entry.path().extension() == ".h5") found.insert(entry.path().stem().string());
  EXPECT_EQ(found, kCases);
}

TEST(GoldenFiles, DifferFromNumbersThatAreNotTheirs) {
  const std::vector<float> wanted{1, -2, 4}, none{0, 0};
  EXPECT_EQ(error_of(wanted, wanted), 0);
  EXPECT_NEAR(error_of(std::vector<float>{1, -2, 3}, wanted), 0.25, 1e-12);
  EXPECT_NEAR(error_of(std::vector<float>{0, 0.5f}, none), 0.5, 1e-12);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_GT(error_of(std::vector<float>{nan, -2, 4}, wanted), 1);
  EXPECT_GT(error_of(std::vector<float>{1, -2}, wanted), 1);
}

void check_layouts(const std::string& name, Device device) {
  const Reference reference(Golden("golden/" + name + ".h5"));
  ASSERT_EQ(reference.config.kv_heads() % 2, 0) << "two shards would be left out";
  for (int shards : {1, 2, 4})
    for (bool sequence_parallel : {false, true}) {
      if (reference.config.kv_heads() % shards || (shards == 1 && sequence_parallel)) continue;
      SCOPED_TRACE(fmt::format("{} shards, sequence parallel {}", shards, sequence_parallel));
      run_ranks(shards, [&](Group& tp) { check_rank(reference, tp, sequence_parallel, device); });
    }
}

class PyTorch : public testing::TestWithParam<std::string> {};

TEST_P(PyTorch, AgreesOnOneRankAndOverShards) { check_layouts(GetParam(), {}); }

class GoldenOnGpu : public testing::TestWithParam<std::string> {};

TEST_P(GoldenOnGpu, AgreesOnOneRankAndOverShards) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
  check_layouts(GetParam(), {DeviceKind::cuda, 0});
}

INSTANTIATE_TEST_SUITE_P(OnGpu, GoldenOnGpu, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(Cases, PyTorch, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace skein
