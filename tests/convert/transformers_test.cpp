// Imported models against what transformers computed: logits, loss and gradients, on one rank and
// over shards.
#include <gtest/gtest.h>

#include "skein/convert/verify.h"

#include "convert/against_transformers.h"

namespace skein::convert {
namespace {

using test::kTolerance;

class Transformers : public testing::TestWithParam<std::string> {};

TEST_P(Transformers, AgreesOnOneRankAndOverShards) {
  const test::Scratch scratch;
  const std::string folder = test::golden(GetParam()),
                    path = test::import_folder(folder, scratch.file("run"));
  test::expect_as_transformers(path, folder + "/" + kExpectedFile);
}

TEST_P(Transformers, IsVerified) {
  const test::Scratch scratch;
  const std::string folder = test::golden(GetParam()),
                    path = test::import_folder(folder, scratch.file("run"));
  const auto alone = single_rank();
  const checkpoint::CheckpointInfo info = *checkpoint::find_checkpoint(path, *alone);
  const ModelConfig model = stored_model(train::run_state(info.metadata, path), path);
  const Verification found = verify_logits(info, model, folder + "/" + kExpectedFile, false);
  EXPECT_TRUE(found.good());
  EXPECT_LT(found.difference, kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Golden, Transformers, testing::ValuesIn(test::golden_names()),
                         [](const auto& info) { return info.param; });

// The global_attention_mask of the files' caller: two tokens of each text, one of which ends before
// the other. They are marked by their id here.
TEST(MarkedTokens, AndPaddingAreAsInTransformers) {
  const test::Scratch scratch;
  const std::string folder = test::golden("longformer_marked"),
                    path = test::import_folder(folder, scratch.file("run"));
  constexpr int64_t kMarked = 5;
  test::expect_as_transformers(path, folder + "/" + kExpectedFile,
                               MarkRule{.first = 0, .token = kMarked});
  test::export_folder(path, scratch.file("back"));
  auto before = test::files_of(folder);
  before.erase(kExpectedFile);
  EXPECT_TRUE(test::files_of(scratch.file("back")) == before);
}

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
  const checkpoint::CheckpointInfo info = *checkpoint::find_checkpoint(
      test::import_folder(test::golden("gpt2"), scratch.file("run"), config), *alone);
  const ModelConfig model = stored_model(train::run_state(info.metadata, info.path), info.path);
  const std::string expected = test::golden("gpt2") + "/" + kExpectedFile;
  const Verification rounded = verify_logits(info, model, expected, false);
  EXPECT_TRUE(rounded.good());
  EXPECT_GT(rounded.difference, 1e-4);
  ModelConfig other = model;
  EXPECT_EQ(
      verify_logits(*checkpoint::find_checkpoint(
                        test::import_folder(test::golden("gpt2"), scratch.file("whole")), *alone),
                    model, expected, false)
          .limit,
      1e-4);
  EXPECT_EQ(verify_logits(*checkpoint::find_checkpoint(scratch.file("whole"), *alone), model,
                          expected, true)
                .limit,
            3e-2);
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
  const checkpoint::CheckpointInfo info = *checkpoint::find_checkpoint(
      test::import_folder(test::golden("gpt2"), scratch.file("run")), *alone);
  const ModelConfig model = stored_model(train::run_state(info.metadata, info.path), info.path);
  const formats::SafetensorsFile file(test::golden("gpt2") + "/" + kExpectedFile);
  std::vector<formats::SafeTensor> tensors = file.tensors();
  std::vector<int64_t> right, wrong;
  for (formats::SafeTensor& tensor : tensors) {
    if (tensor.name != "logits") continue;
    right = tensor.shape;
    std::swap(tensor.shape[0], tensor.shape[2]);
    wrong = tensor.shape;
  }
  {
    formats::SafetensorsWriter writer(scratch.file("turned"), tensors, {});
    for (const formats::SafeTensor& tensor : writer.tensors()) {
      const Tensor bytes = test::read_tensor(file, tensor.name);
      writer.append({bytes.bytes_data(), static_cast<size_t>(bytes.bytes())});
    }
    writer.finish();
  }
  test::expect_error(ExitCode::usage,
                     {"logits is " + Shape(wrong).str(), "the model gives " + Shape(right).str()},
                     [&] { verify_logits(info, model, scratch.file("turned"), false); });
}

}  // namespace
}  // namespace skein::convert
