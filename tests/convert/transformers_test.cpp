// Imported models against what transformers computed: logits, loss and gradients, on one rank and over shards.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "convert/golden_folder.h"
#include "skein/checkpoint/parameters.h"
#include "skein/convert/verify.h"
#include "skein/kernels/elementwise.h"
#include "skein/models/bert.h"
#include "skein/models/gpt.h"
#include "skein/ops/linear.h"

namespace skein {
namespace {

constexpr double kTolerance = 1e-5;

struct Expected {
  explicit Expected(const std::string& folder, const ModelConfig& model) : file(folder + "/" + kExpectedFile) {
    batch.tokens = narrow_ids(test::read_tensor(file, "ids"));
    const int64_t samples = batch.tokens.dim(0), length = batch.tokens.dim(1), places = model.head == Head::sequence ? 1 : length;
    batch.positions = Tensor::empty(batch.tokens.shape(), DType::i32);
    for (int64_t i = 0; i < batch.positions.size(); ++i) batch.positions.data<int32_t>()[i] = static_cast<int32_t>(i % length);
    if (const Tensor types = test::read_tensor(file, "types"); types.defined()) batch.types = narrow_ids(types);
    batch.targets = narrow_ids(test::read_tensor(file, "targets")).reshape({samples, places});
    batch.weights = Tensor::from(std::vector<float>(static_cast<size_t>(samples * places), 1.0f), {samples, places});
    std::vector<int64_t> numbers(static_cast<size_t>(samples));
    std::iota(numbers.begin(), numbers.end(), 0);
    batch.sample_ids = Tensor::from(numbers, {samples});
    if (model.head == Head::sequence)
      batch.places = Tensor::from(std::vector<int32_t>(static_cast<size_t>(samples), static_cast<int32_t>(length - 1)), {samples, 1});
    batch = placed(batch, {});
    logits = test::read_tensor(file, "logits");
    loss = test::read_tensor(file, "loss").data<float>()[0];
  }
  static Tensor narrow_ids(const Tensor& wide) { return test::narrow_ids(wide); }

  SafetensorsFile file;
  Batch batch;
  Tensor logits;
  double loss = 0;
};

double error_of(const float* found, const float* wanted, int64_t count) {
  double difference = 0, size = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(found[i])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(double{found[i]} - wanted[i]));
    size = std::max(size, std::abs(double{wanted[i]}));
  }
  return size > 1e-7 ? difference / size : difference;
}

// Logits [B*T, V/t] of this rank against its columns.
void check_vocabulary(const Expected& expected, const Tensor& found, const ops::VocabShard& shard) {
  const int64_t vocab = expected.logits.dim(-1), width = found.dim(1);
  std::vector<float> here, wanted;
  for (int64_t row = 0; row < found.dim(0); ++row)
    for (int64_t j = 0; j < shard.valid; ++j) {
      here.push_back(found.data<float>()[row * width + j]);
      wanted.push_back(expected.logits.data<float>()[row * vocab + shard.first_id + j]);
    }
  EXPECT_EQ(found.dim(0), expected.batch.tokens.size());
  EXPECT_LT(error_of(here.data(), wanted.data(), static_cast<int64_t>(here.size())), kTolerance);
}

void check_labels(const Expected& expected, const Tensor& found) {
  ASSERT_EQ(found.size(), expected.logits.size());
  EXPECT_LT(error_of(found.data<float>(), expected.logits.data<float>(), found.size()), kTolerance);
}

// Gradients of whole tensors, by our names; a tied tensor's uses added up.
std::map<std::string, Tensor> gradients_of(const Parameters& parameters) {
  std::map<std::string, Tensor> all;
  for (const Parameter& p : parameters.all())
    if (!p.tied()) all[p.name] = p.gradient.clone();
  for (const Parameter& p : parameters.all())
    if (p.tied()) kernels::accumulate(Cpu{}, p.gradient, all.at(p.tied_to));
  return all;
}

int check_gradients(const Expected& expected, const NameMap& names, const Parameters& parameters) {
  const auto ours = gradients_of(parameters);
  int checked = 0;
  for (const ForeignTensor& theirs : names.tensors) {
    const Tensor wanted = test::read_tensor(expected.file, "gradient:" + theirs.name);
    if (!wanted.defined()) continue;
    std::vector<float> found;
    for (const OurTensor& part : theirs.parts) {
      const auto values = ours.at(part.name).span<float>();
      found.insert(found.end(), values.begin(), values.end());
    }
    if (theirs.transposed) {
      const size_t columns = static_cast<size_t>(theirs.shape[0]), rows = static_cast<size_t>(theirs.shape[1]);
      std::vector<float> turned(found.size());
      for (size_t i = 0; i < found.size(); ++i) turned[i % columns * rows + i / columns] = found[i];
      found = turned;
    }
    EXPECT_EQ(static_cast<int64_t>(found.size()), wanted.size());
    EXPECT_LT(error_of(found.data(), wanted.data<float>(), wanted.size()), kTolerance) << theirs.name;
    ++checked;
  }
  return checked;
}

double loss_of(const Losses& losses) {
  double sum = 0;
  for (int64_t i = 0; i < losses.rows.value().size(); ++i) sum += losses.rows.value().data<float>()[i];
  return sum / static_cast<double>(losses.rows.value().size());
}

// A model of either kind on this rank, forward and backward.
class Runner {
 public:
  Runner(const ModelConfig& config, const CheckpointInfo& info, Group& tp) : config_(config), parameters_(DType::f32, tp.rank(), tp.size()) {
    const ModelPiece whole{0, static_cast<int>(config.n_layers), true, true, 0};
    if (config.architecture == Architecture::gpt) gpt_ = std::make_unique<Gpt>(config, whole, false, parameters_);
    else bert_ = std::make_unique<Bert>(config, whole, false, parameters_);
    parameters_.allocate(true);
    load_checkpoint(info, parameter_pieces(parameters_), true, tp);
  }

  void check(const Expected& expected, Group& tp) {
    Pass pass;
    pass.tp = &tp;
    pass.batch = &expected.batch;
    pass.loss_scale = 1.0 / static_cast<double>(expected.batch.weights.size());
    const Model& model = gpt_ ? static_cast<const Model&>(*gpt_) : *bert_;
    const Var output = model.forward({}, pass);
    check_logits(expected, output, pass);
    const Losses losses = objective()->losses(output, pass);
    EXPECT_NEAR(loss_of(losses) / expected.loss, 1, kTolerance);
    if (tp.size() > 1) return;
    backward(losses.rows, losses.row_weights);
    EXPECT_GE(check_gradients(expected, huggingface_names(config_), parameters_), 4);
  }

 private:
  void check_logits(const Expected& expected, const Var& output, const Pass& pass) {
    if (config_.head != Head::vocabulary) return check_labels(expected, (gpt_ ? gpt_->label_scores(output, pass) : bert_->label_scores(output, pass)).value());
    if (gpt_) return check_vocabulary(expected, gpt_->logits(output.value()), gpt_->vocab_shard());
    const Tensor logits = ops::linear_sums(bert_->transformed(output, pass).value(), bert_->decoder().weight());
    kernels::add_bias(Cpu{}, logits, bert_->decoder_bias().value, logits);
    check_vocabulary(expected, logits, bert_->vocab_shard());
    if (!config_.pooler) return;
    const Tensor wanted = test::read_tensor(expected.file, "pair_logits"), pairs = bert_->pair_scores(output, pass).value();
    ASSERT_EQ(pairs.size(), wanted.size());
    EXPECT_LT(error_of(pairs.data<float>(), wanted.data<float>(), wanted.size()), kTolerance);
  }
  std::unique_ptr<Objective> objective() const {
    if (config_.head != Head::vocabulary)
      return std::make_unique<LabelObjective>(gpt_ ? static_cast<const Labelled&>(*gpt_) : *bert_);
    if (gpt_) return std::make_unique<NextToken>(*gpt_);
    return std::make_unique<MaskedTokens>(*bert_);
  }

  ModelConfig config_;
  Parameters parameters_;
  std::unique_ptr<Gpt> gpt_;
  std::unique_ptr<Bert> bert_;
};

class Transformers : public testing::TestWithParam<std::string> {};

TEST_P(Transformers, AgreesOnOneRankAndOverShards) {
  const test::Scratch scratch;
  const std::string folder = test::golden(GetParam()), path = test::import_folder(folder, scratch.file("run"));
  const auto alone = single_rank();
  const CheckpointInfo info = *find_checkpoint(path, *alone);
  const ModelConfig model = stored_model(run_state(info.metadata, path), path);
  const Expected expected(folder, model);
  for (int shards : {1, 2})
    run_ranks(shards, [&](Group& tp) { Runner(model, info, tp).check(expected, tp); });
}

TEST_P(Transformers, IsVerified) {
  const test::Scratch scratch;
  const std::string folder = test::golden(GetParam()), path = test::import_folder(folder, scratch.file("run"));
  const auto alone = single_rank();
  const CheckpointInfo info = *find_checkpoint(path, *alone);
  const ModelConfig model = stored_model(run_state(info.metadata, path), path);
  const Verification found = verify_logits(info, model, folder + "/" + kExpectedFile, false);
  EXPECT_TRUE(found.good());
  EXPECT_LT(found.difference, kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Golden, Transformers, testing::ValuesIn(test::golden_names()), [](const auto& info) { return info.param; });

TEST(Verify, KnowsNarrowSources) {
  const test::Scratch scratch;
  ConvertConfig config;
  config.dtype = DType::bf16;
  test::import_folder(test::golden("gpt2"), scratch.file("run"));
  test::export_folder(scratch.file("run"), scratch.file("narrow"), config);
  config.dtype = DType::f32;
  EXPECT_TRUE(Import(scratch.file("narrow"), Form::huggingface, config).narrow());
  EXPECT_FALSE(Import(test::golden("gpt2"), Form::huggingface, config).narrow());
}

TEST(Verify, SeesAnotherModel) {
  const test::Scratch scratch;
  const auto alone = single_rank();
  ConvertConfig config;
  config.dtype = DType::bf16;
  const CheckpointInfo info = *find_checkpoint(test::import_folder(test::golden("gpt2"), scratch.file("run"), config), *alone);
  const ModelConfig model = stored_model(run_state(info.metadata, info.path), info.path);
  const std::string expected = test::golden("gpt2") + "/" + kExpectedFile;
  const Verification rounded = verify_logits(info, model, expected, false);
  EXPECT_TRUE(rounded.good());
  EXPECT_GT(rounded.difference, 1e-4);
  ModelConfig other = model;
  EXPECT_EQ(verify_logits(*find_checkpoint(test::import_folder(test::golden("gpt2"), scratch.file("whole")), *alone), model, expected, false).limit, 1e-4);
  EXPECT_EQ(verify_logits(*find_checkpoint(scratch.file("whole"), *alone), model, expected, true).limit, 3e-2);
  other.norm_epsilon = 10;
  EXPECT_FALSE(verify_logits(info, other, expected, false).good());
  test::expect_error(ExitCode::usage, {"ids holds", "the model knows"}, [&] {
    ModelConfig narrow = model;
    narrow.vocab_size = 50;
    verify_logits(info, narrow, expected, false);
  });
}

// As many numbers in another order are no logits of this model.
TEST(Verify, WantsLogitsOfTheModelsShape) {
  const test::Scratch scratch;
  const auto alone = single_rank();
  const CheckpointInfo info = *find_checkpoint(test::import_folder(test::golden("gpt2"), scratch.file("run")), *alone);
  const ModelConfig model = stored_model(run_state(info.metadata, info.path), info.path);
  const SafetensorsFile file(test::golden("gpt2") + "/" + kExpectedFile);
  std::vector<SafeTensor> tensors = file.tensors();
  std::vector<int64_t> right, wrong;
  for (SafeTensor& tensor : tensors) {
    if (tensor.name != "logits") continue;
    right = tensor.shape;
    std::swap(tensor.shape[0], tensor.shape[2]);
    wrong = tensor.shape;
  }
  {
    SafetensorsWriter writer(scratch.file("turned"), tensors, {});
    for (const SafeTensor& tensor : writer.tensors()) {
      const Tensor bytes = test::read_tensor(file, tensor.name);
      writer.append({bytes.bytes_data(), static_cast<size_t>(bytes.bytes())});
    }
    writer.finish();
  }
  test::expect_error(ExitCode::usage, {"logits is " + Shape(wrong).str(), "the model gives " + Shape(right).str()},
                     [&] { verify_logits(info, model, scratch.file("turned"), false); });
}

}  // namespace
}  // namespace skein
