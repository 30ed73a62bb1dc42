// Logits, loss and every gradient of encoder-decoders against transformers'
// (tools/make_encoder_decoder_golden.py), on one rank and over tensor-parallel shards: each pair in
// a row of its own, and two pairs in a row, which must be blind to each other.
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "skein/comm/local.h"
#include "skein/data/samples/two_sided.h"
#include "skein/kernels/elementwise.h"
#include "skein/models/architecture.h"
#include "skein/models/description.h"
#include "skein/models/heads.h"
#include "skein/tensor/cuda.h"

#include "golden/golden_file.h"

namespace skein {
namespace {

using test::error_of;
using test::Golden;
using test::kTolerance;

constexpr char kFolder[] = "golden/encoder_decoder";

ModelConfig stored_config(const Golden& golden) {
  ModelConfig c;
  Options options("golden", "");
  bind(options, c);
  options.read_ini(golden.text("options"), "golden");
  return c;
}

std::vector<int32_t> numbers(const Golden& golden, const std::string& name) {
  const auto all = golden.tensor<int32_t>(name);
  return {all.span<int32_t>().begin(), all.span<int32_t>().end()};
}

std::vector<data::TokenPair> pairs_of(const Golden& golden) {
  const std::vector<int32_t> lengths = numbers(golden, "lengths"),
                             sources = numbers(golden, "sources"),
                             labels = numbers(golden, "labels");
  std::vector<data::TokenPair> pairs;
  auto source = sources.begin(), label = labels.begin();
  for (size_t i = 0; i < lengths.size(); i += 2) {
    pairs.push_back({{source, source + lengths[i]}, {label, label + lengths[i + 1]}});
    source += lengths[i];
    label += lengths[i + 1];
  }
  return pairs;
}

// All of a file, read before ranks begin.
struct PairReference {
  explicit PairReference(const std::string& name)
      : PairReference(Golden(std::string(kFolder) + "/" + name + ".h5")) {}
  explicit PairReference(const Golden& golden)
      : config(stored_config(golden)),
        pairs(pairs_of(golden)),
        start(golden.tensor<int32_t>("start").data<int32_t>()[0]),
        logits(golden.tensor<float>("logits")),
        loss(golden.tensor<double>("loss").data<double>()[0]) {
    const Tensor all = golden.tensor<float>("values"), learnt = golden.tensor<float>("gradients");
    std::istringstream lines(golden.text("tensors"));
    int64_t at = 0;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name;
      std::vector<int64_t> dims;
      words >> name;
      for (int64_t dim; words >> dim;) dims.push_back(dim);
      const int64_t begin = at;
      at += Shape(dims).size();
      values[name] = all.flat(begin, at - begin).reshape(Shape(dims));
      if (!line.ends_with(" constant"))
        gradients[name] = learnt.flat(begin, at - begin).reshape(Shape(dims));
    }
    EXPECT_EQ(at, all.size());
  }

  ModelConfig config;
  std::vector<data::TokenPair> pairs;
  int32_t start;
  Tensor logits;
  double loss;
  std::map<std::string, Tensor> values, gradients;
};

// Pairs in rows, and which label of the file stands where.
struct Arrangement {
  // each: pairs of a row; row r has pairs r, r + rows, ...
  Arrangement(const PairReference& reference, size_t each) {
    const size_t rows = reference.pairs.size() / each;
    std::vector<data::TokenPairs> all(rows);
    std::vector<int64_t> first{0}, sources(rows), targets(rows);
    for (size_t i = 0; i < reference.pairs.size(); ++i) {
      const data::TokenPair& pair = reference.pairs[i];
      all[i % rows].push_back(pair);
      sources[i % rows] += std::ssize(pair.source);
      targets[i % rows] += std::ssize(pair.labels);
      first.push_back(first.back() + std::ssize(pair.labels));
    }
    // Of a multiple of 4 with padding in every row, for sequence parallelism.
    const auto length = [](const std::vector<int64_t>& taken) {
      return *std::ranges::max_element(taken) / 4 * 4 + 4;
    };
    const int64_t target_length = length(targets);
    batch = data::two_sided_batch(all, {length(sources), target_length, reference.start, 0, 0},
                                  {0, std::ssize(all)});
    for (size_t row = 0; row < rows; ++row) {
      std::vector<int64_t> numbers;
      for (size_t i = row; i < reference.pairs.size(); i += rows)
        for (int64_t label = first[i]; label < first[i + 1]; ++label) numbers.push_back(label);
      numbers.resize(static_cast<size_t>(target_length), -1);
      labels.insert(labels.end(), numbers.begin(), numbers.end());
    }
  }

  data::Batch batch;
  std::vector<int64_t> labels;  // of each place; -1: padding
};

// transformers computed in f64. In f32, with weights of deviation 0.3, gradients are off by some
// 1e-5 themselves.
double tolerance(DType dtype) { return dtype == DType::f64 ? kTolerance : 5 * kTolerance; }

void check_logits(const PairReference& reference, const Arrangement& arranged, const Tensor& found,
                  const ops::VocabShard& shard, Group& tp) {
  ASSERT_EQ(found.dim(0), std::ssize(arranged.labels));
  EXPECT_EQ(tp.sum(shard.valid), reference.config.vocab_size);
  std::vector<float> here, wanted;
  for (int64_t row = 0; row < found.dim(0); ++row) {
    const int64_t label = arranged.labels[static_cast<size_t>(row)];
    if (label < 0) continue;
    const float* const from = found.data<float>() + row * found.dim(1);
    const float* const theirs =
        reference.logits.data<float>() + label * reference.config.vocab_size + shard.first_id;
    here.insert(here.end(), from, from + shard.valid);
    wanted.insert(wanted.end(), theirs, theirs + shard.valid);
  }
  EXPECT_EQ(std::ssize(here), reference.logits.dim(0) * shard.valid);
  EXPECT_LT(error_of(here, wanted), kTolerance);
}

// Of the uses of a tensor together.
Tensor gradient_of(const Parameter& p, const Parameters& parameters) {
  const Tensor gradient = p.gradient.to(Device{}).clone();
  for (const Parameter& other : parameters.all())
    if (other.tied_to == p.name)
      kernels::accumulate(Cpu{}, other.gradient.to(Device{}), Out(gradient));
  return gradient;
}

void check_gradients(const PairReference& reference, const Parameters& parameters, Group& tp) {
  size_t checked = 0;
  for (const Parameter& p : parameters.all()) {
    const auto wanted = reference.gradients.find(p.name);
    if (p.tied() || wanted == reference.gradients.end()) continue;
    const Tensor gradient = gradient_of(p, parameters);
    if (p.sum_over_shards) tp.all_reduce_sum(gradient).wait();
    EXPECT_LT(error_of(gradient.to(DType::f32).span<float>(), test::part_of(p, wanted->second)),
              tolerance(parameters.dtype()))
        << p.name;
    ++checked;
  }
  EXPECT_EQ(checked, reference.gradients.size());
}

void fill(const PairReference& reference, Parameters& parameters) {
  std::set<std::string> names;
  for (const Parameter& p : parameters.all()) {
    if (p.tied()) continue;
    names.insert(p.name);
    ASSERT_TRUE(reference.values.contains(p.name)) << p.name;
    const Tensor value = Tensor::from(test::part_of(p, reference.values.at(p.name)), p.local);
    p.value.copy_from(value.to(p.value.dtype()));
  }
  EXPECT_EQ(names.size(), reference.values.size()) << "transformers' model has other tensors";
}

struct Place {
  Device device;
  DType dtype;
};

void check_rank(const PairReference& reference, size_t each, Group& tp, bool sequence_parallel,
                const Place& place) {
  const Arrangement arranged(reference, each);
  Parameters parameters(place.dtype, tp.rank(), tp.size(), place.device);
  const auto model = reference.config.architecture->piece(
      reference.config, whole_piece(reference.config), sequence_parallel, parameters);
  parameters.allocate(true);
  fill(reference, parameters);
  LossPass pass;
  pass.tp = &tp;
  pass.sequence_parallel = sequence_parallel;
  const data::Batch batch = placed(arranged.batch, place.device);
  pass.batch = &batch;
  pass.train = true;
  const auto weights = arranged.batch.weights.span<float>();
  const double counted = std::accumulate(weights.begin(), weights.end(), 0.0);
  pass.loss_scale = 1 / counted;
  const Var features = model->forward({}, pass);
  const Predictor& predictor = *model->predictor();
  check_logits(reference, arranged,
               predictor.logits(predictor.rows(features, pass).value()).to(Device{}).to(DType::f32),
               predictor.vocab_shard(), tp);
  const Losses losses = model->objective()->losses(features, pass);
  const Tensor rows = losses.rows.value().to(Device{}).to(DType::f32);
  double loss = 0;
  for (size_t i = 0; i < weights.size(); ++i) loss += weights[i] * rows.span<float>()[i] / counted;
  EXPECT_NEAR(loss / reference.loss, 1, kTolerance);
  backward(losses.rows, losses.row_weights);
  check_gradients(reference, parameters, tp);
}

void check_pair_layouts(const std::string& name, const Place& place) {
  const PairReference reference(name);
  for (const int shards : {1, 2})
    for (const bool sequence_parallel : {false, true})
      for (const size_t each : {1, 2}) {
        if (shards == 1 && sequence_parallel) continue;
        SCOPED_TRACE(fmt::format("{} shards, sequence parallel {}, {} pairs a row", shards,
                                 sequence_parallel, each));
        run_ranks(shards,
                  [&](Group& tp) { check_rank(reference, each, tp, sequence_parallel, place); });
      }
}

const std::set<std::string> kMappers = {"bart", "marian",  "marian_two", "mbart",
                                        "t5",   "t5_silu", "t5_v1_1"};

TEST(EncoderDecoderFiles, AreTheOnesTested) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    found.insert(entry.path().stem().string());
  EXPECT_EQ(found, kMappers);
}

class OfTransformers : public testing::TestWithParam<std::string> {};

TEST_P(OfTransformers, AgreesOnOneRankAndOverShards) {
  for (const DType dtype : {DType::f64, DType::f32}) check_pair_layouts(GetParam(), {{}, dtype});
}

INSTANTIATE_TEST_SUITE_P(Cases, OfTransformers, testing::ValuesIn(kMappers),
                         [](const auto& info) { return info.param; });

class EncoderDecoderOnGpu : public testing::TestWithParam<std::string> {};

TEST_P(EncoderDecoderOnGpu, AgreesOnOneRankAndOverShards) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
  check_pair_layouts(GetParam(), {{DeviceKind::cuda, 0}, DType::f32});
}

INSTANTIATE_TEST_SUITE_P(OnGpu, EncoderDecoderOnGpu, testing::ValuesIn(kMappers),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace skein
