// Logits, loss and every gradient against PyTorch's (tools/make_golden.py), on one rank and over tensor-parallel shards.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "skein/comm/local.h"
#include "skein/models/gpt.h"

namespace skein {
namespace {

class Golden {
 public:
  explicit Golden(const std::string& path) : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
    if (file_ < 0) throw std::runtime_error("cannot open " + path);
  }
  ~Golden() { H5Fclose(file_); }
  Golden(const Golden&) = delete;
  Golden& operator=(const Golden&) = delete;

  template <class T>
  Tensor tensor(const std::string& name) const {
    const hid_t set = H5Dopen2(file_, name.c_str(), H5P_DEFAULT), space = H5Dget_space(set);
    std::vector<hsize_t> dims(static_cast<size_t>(H5Sget_simple_extent_ndims(space)));
    H5Sget_simple_extent_dims(space, dims.data(), nullptr);
    Tensor made = Tensor::empty(Shape(std::vector<int64_t>(dims.begin(), dims.end())), DTypeOf<T>::value);
    const hid_t type = std::is_same_v<T, int32_t> ? H5T_NATIVE_INT32 : std::is_same_v<T, float> ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    if (set < 0 || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, made.bytes_data()) < 0) throw std::runtime_error("no " + name);
    H5Sclose(space);
    H5Dclose(set);
    return made;
  }

  int64_t number(const char* name) const { return read<int64_t>(name, H5T_NATIVE_INT64); }
  double real(const char* name) const { return read<double>(name, H5T_NATIVE_DOUBLE); }
  std::string text(const char* name) const {
    const hid_t attribute = H5Aopen(file_, name, H5P_DEFAULT), type = H5Aget_type(attribute);
    char* held = nullptr;
    H5Aread(attribute, type, &held);
    std::string value = held;
    H5free_memory(held);
    H5Tclose(type);
    H5Aclose(attribute);
    return value;
  }

 private:
  template <class T>
  T read(const char* name, hid_t type) const {
    T value{};
    const hid_t attribute = H5Aopen(file_, name, H5P_DEFAULT);
    if (attribute < 0 || H5Aread(attribute, type, &value) < 0) throw std::runtime_error(std::string("no ") + name);
    H5Aclose(attribute);
    return value;
  }
  hid_t file_;
};

GptConfig config_of(const Golden& golden) {
  GptConfig c;
  Options options("golden", "");
  bind(options, c);
  for (const char* key : {"vocab_size", "context", "d_model", "n_layers", "n_heads", "n_kv_heads", "d_head", "d_ff"})
    options.set(std::string("model.") + key, std::to_string(golden.number(key)), "golden");
  for (const char* key : {"positions", "norm", "norm_placement", "activation"})
    options.set(std::string("model.") + key, golden.text(key), "golden");
  for (const char* key : {"bias", "tie_embeddings"})
    options.set(std::string("model.") + key, golden.number(key) ? "true" : "false", "golden");
  c.rope_theta = golden.real("rope_theta");
  c.norm_epsilon = golden.real("norm_epsilon");
  return c;
}

Batch batch_of(const Golden& golden) {
  Batch batch{golden.tensor<int32_t>("tokens"), golden.tensor<int32_t>("targets"), golden.tensor<float>("weights"),
              golden.tensor<int32_t>("positions"), {}, Tensor::from(std::vector<int64_t>{0, 1, 2}, {3})};
  if (golden.number("documents")) batch.segments = golden.tensor<int32_t>("segments");
  return batch;
}

// All of a file, read before ranks begin: HDF5 takes one thread at a time.
struct Reference {
  explicit Reference(const Golden& golden)
      : config(config_of(golden)), batch(batch_of(golden)), logits(golden.tensor<float>("logits")),
        loss(golden.tensor<double>("loss").data<double>()[0]) {
    Parameters all(DType::f32, 0, 1);
    const Gpt model(config, whole(), false, all);
    for (const Parameter& p : all.all()) {
      if (p.tied()) continue;
      values[p.name] = golden.tensor<float>("value:" + p.name);
      gradients[p.name] = golden.tensor<float>("gradient:" + p.name);
    }
  }
  GptPiece whole() const { return {0, static_cast<int>(config.n_layers), true, true, 0}; }

  GptConfig config;
  Batch batch;
  Tensor logits;
  double loss;
  std::map<std::string, Tensor> values, gradients;
};

// The part of a whole tensor that a parameter holds, padding zero.
std::vector<float> part_of(const Parameter& p, const Tensor& whole) {
  std::vector<float> part(static_cast<size_t>(p.local.size()), 0.0f);
  const auto start = p.box_start(), extent = p.box_extent();
  const bool matrix = p.shape.rank() > 1;
  const int64_t columns = matrix ? p.shape[1] : 1, width = matrix ? extent[1] : 1, first = matrix ? start[1] : 0;
  for (int64_t row = 0; row < extent[0]; ++row)
    std::copy_n(whole.data<float>() + (start[0] + row) * columns + first, width, part.begin() + row * (matrix ? p.local[1] : 1));
  return part;
}

// Largest difference, relative to the largest number wanted; to 1 where that is zero in exact arithmetic, as is the gradient of
// key biases, which move all scores of a query alike.
double error_of(std::span<const float> found, const std::vector<float>& wanted) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    difference = std::max(difference, std::abs(double{found[i]} - wanted[i]));
    size = std::max(size, std::abs(double{wanted[i]}));
  }
  return size > 1e-10 ? difference / size : difference;
}

void check_logits(const Reference& reference, const Tensor& found, const ops::VocabShard& shard) {
  std::vector<float> here, wanted;
  for (int64_t row = 0; row < found.dim(0); ++row)
    for (int64_t j = 0; j < shard.valid; ++j) {
      here.push_back(found.data<float>()[row * found.dim(1) + j]);
      wanted.push_back(reference.logits.data<float>()[row * reference.config.vocab_size + shard.first_id + j]);
    }
  EXPECT_LT(error_of(here, wanted), 1e-5);
}

void check_gradients(const Reference& reference, const Parameters& parameters, Group& tp) {
  for (const Parameter& p : parameters.all()) {
    if (p.tied()) continue;
    const Tensor gradient = p.gradient.clone();
    for (const Parameter& second : parameters.all())
      if (second.tied_to == p.name)
        for (int64_t i = 0; i < gradient.size(); ++i) gradient.data<float>()[i] += second.gradient.data<float>()[i];
    if (p.sum_over_shards) tp.all_reduce_sum(gradient);
    EXPECT_LT(error_of(gradient.span<float>(), part_of(p, reference.gradients.at(p.name))), 1e-5) << p.name;
  }
}

void check_rank(const Reference& reference, Group& tp, bool sequence_parallel) {
  Parameters parameters(DType::f32, tp.rank(), tp.size());
  const Gpt model(reference.config, reference.whole(), sequence_parallel, parameters);
  parameters.allocate(true);
  for (const Parameter& p : parameters.all())
    if (!p.tied()) p.value.copy_from(Tensor::from(part_of(p, reference.values.at(p.name)), p.local));
  Pass pass;
  pass.tp = &tp;
  pass.sequence_parallel = sequence_parallel;
  pass.batch = &reference.batch;
  pass.train = true;
  const Var logits = model.forward({}, pass);
  check_logits(reference, logits.value(), model.vocab_shard());
  const Losses losses = NextToken(model).losses(logits, pass);
  const auto weights = reference.batch.weights.span<float>();
  const double counted = std::accumulate(weights.begin(), weights.end(), 0.0);
  const Tensor scaled = Tensor::empty({static_cast<int64_t>(weights.size())}, DType::f32);
  double loss = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    scaled.span<float>()[i] = static_cast<float>(weights[i] / counted);
    loss += weights[i] * losses.rows.value().span<float>()[i] / counted;
  }
  EXPECT_NEAR(loss / reference.loss, 1, 1e-5);
  backward(losses.rows, scaled);
  check_gradients(reference, parameters, tp);
}

class PyTorch : public testing::TestWithParam<const char*> {};

TEST_P(PyTorch, AgreesOnOneRankAndOverShards) {
  const Reference reference(Golden(std::string("golden/") + GetParam() + ".h5"));
  for (int shards : {1, 2, 4})
    for (bool sequence_parallel : {false, true}) {
      if (reference.config.kv_heads() % shards || (shards == 1 && sequence_parallel)) continue;
      SCOPED_TRACE(fmt::format("{} shards, sequence parallel {}", shards, sequence_parallel));
      run_ranks(shards, [&](Group& tp) { check_rank(reference, tp, sequence_parallel); });
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, PyTorch, testing::Values("gpt2", "gpt_post_erf", "llama", "relu_rms", "documents"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace skein
