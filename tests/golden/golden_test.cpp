// Logits, loss and every gradient against PyTorch's (tools/make_golden.py), on one rank and over
// tensor-parallel shards.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "skein/comm/local.h"
#include "skein/data/stores/hdf5.h"
#include "skein/kernels/elementwise.h"
#include "skein/models/gpt/gpt.h"
#include "skein/tensor/cuda.h"

namespace skein {
namespace {

constexpr double kTolerance = 1e-5;

template <class T>
hid_t memory_type() {
  if (std::is_same_v<T, int32_t>) return H5T_NATIVE_INT32;
  return std::is_same_v<T, float> ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

class Golden {
 public:
  explicit Golden(const std::string& path)
      : path_(path), file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose) {
    demand(file_.valid(), "the file");
  }

  template <class T>
  Tensor tensor(const std::string& name) const {
    const data::Hdf5Id set(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
    demand(set.valid(), name);
    const data::Hdf5Id space(H5Dget_space(set.get()), H5Sclose);
    std::vector<hsize_t> dims(static_cast<size_t>(H5Sget_simple_extent_ndims(space.get())));
    H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
    Tensor made =
        Tensor::empty(Shape(std::vector<int64_t>(dims.begin(), dims.end())), DTypeOf<T>::value);
    demand(
        H5Dread(set.get(), memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, made.bytes_data()) >= 0,
        name);
    return made;
  }

  int64_t number(const char* name) const { return read<int64_t>(name, H5T_NATIVE_INT64); }
  double real(const char* name) const { return read<double>(name, H5T_NATIVE_DOUBLE); }
  std::string text(const char* name) const {
    const data::Hdf5Id attribute = open(name), type(H5Aget_type(attribute.get()), H5Tclose);
    char* held = nullptr;
    demand(H5Aread(attribute.get(), type.get(), &held) >= 0 && held, name);
    const std::string value = held;
    H5free_memory(held);
    return value;
  }
  size_t tensors() const {
    H5G_info_t info{};
    demand(H5Gget_info(file_.get(), &info) >= 0, "the list of tensors");
    return info.nlinks;
  }

 private:
  void demand(bool ok, const std::string& what) const {
    if (!ok) throw std::runtime_error("cannot read " + what + " of " + path_);
  }
  data::Hdf5Id open(const char* name) const {
    data::Hdf5Id attribute(H5Aopen(file_.get(), name, H5P_DEFAULT), H5Aclose);
    demand(attribute.valid(), name);
    return attribute;
  }
  template <class T>
  T read(const char* name, hid_t type) const {
    T value{};
    demand(H5Aread(open(name).get(), type, &value) >= 0, name);
    return value;
  }

  data::Hdf5Lock lock_;
  std::string path_;
  data::Hdf5Id file_;
};

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

// The part of a whole tensor that a parameter holds, padding zero.
std::vector<float> part_of(const Parameter& p, const Tensor& whole) {
  std::vector<float> part(static_cast<size_t>(p.local.size()), 0.0f);
  const auto start = p.box_start(), extent = p.box_extent();
  const bool matrix = p.shape.rank() > 1;
  const int64_t columns = matrix ? p.shape[1] : 1, local_columns = matrix ? p.local[1] : 1;
  const int64_t width = matrix ? extent[1] : 1, first = matrix ? start[1] : 0;
  for (int64_t row = 0; row < extent[0]; ++row) {
    const float* from = whole.data<float>() + (start[0] + row) * columns + first;
    std::copy_n(from, width, part.begin() + row * local_columns);
  }
  return part;
}

// Largest difference, relative to the largest number wanted; to 1 where that is zero in exact
// arithmetic, as is the gradient of key biases, which move all scores of a query alike. Infinite
// where a number is not finite.
double error_of(std::span<const float> found, std::span<const float> wanted) {
  if (found.size() != wanted.size()) return std::numeric_limits<double>::infinity();
  double difference = 0, size = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    // std::max would drop a NaN.
    if (!std::isfinite(found[i])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(double{found[i]} - wanted[i]));
    size = std::max(size, std::abs(double{wanted[i]}));
  }
  return size > 1e-10 ? difference / size : difference;
}

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
    EXPECT_LT(error_of(gradient.span<float>(), wanted), kTolerance) << p.name;
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
