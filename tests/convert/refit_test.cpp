// Models that are made of others: encoders that read longer texts, and models of pictures of
// another size.
#include "skein/convert/refit.h"

#include <cstring>
#include <gtest/gtest.h>

#include "skein/convert/verify.h"
#include "skein/models/mae/mae.h"
#include "skein/models/resized_pictures.h"

#include "convert/against_transformers.h"
#include "convert/edited_golden.h"
#include "convert/fresh_run.h"

namespace skein::convert {
namespace {

using test::Scratch;

using Given = std::map<std::string, std::string>;

ConvertConfig to_context(int64_t tokens, const Given& attention = {}) {
  ConvertConfig made;
  made.to_context = tokens;
  made.attention = attention;
  return made;
}

// Logits [B,T,V] of an encoder's checkpoint for the texts that transformers read.
std::vector<float> logits_of(const std::string& path, const test::Expected& expected) {
  const auto alone = single_rank();
  const ModelConfig config = test::model_of(path);
  Parameters parameters(DType::f32, 0, 1);
  const auto model = config.architecture->piece(config, whole_piece(config), false, parameters);
  load_weights(*checkpoint::find_checkpoint(path, *alone), parameters, *alone);
  Pass pass;
  pass.tp = alone.get();
  pass.batch = &expected.batch;
  const NoGrad no_grad;
  const Var output = model->forward({}, pass);
  const Tensor made =
      model->scorer() ? model->scorer()->label_scores(output, pass).value()
                      : model->predictor()->logits(model->predictor()->rows(output, pass).value());
  const auto values = made.span<float>();
  return {values.begin(), values.end()};
}

std::vector<float> tensor_of(const std::string& path, const std::string& name) {
  const auto alone = single_rank();
  checkpoint::CheckpointTensors tensors(*checkpoint::find_checkpoint(path, *alone));
  const auto& shape = tensors.tensors().at("param/" + name).shape;
  std::vector<float> made(static_cast<size_t>(checkpoint::element_count(shape)));
  tensors.read("param/" + name, 0, std::ssize(made), DType::f32,
               reinterpret_cast<std::byte*>(made.data()));
  return made;
}

void expect_text(const std::string& found, std::initializer_list<const char*> words) {
  for (const char* one : words) EXPECT_NE(found.find(one), std::string::npos) << found;
}

// 13 tokens of a model that read 16, in windows of 32: marked or not they see each other as before.
class ToContext : public testing::TestWithParam<std::string> {};

TEST_P(ToContext, KeepsWhatIsSaidOfShortTexts) {
  const std::string folder = test::golden(GetParam());
  const Scratch scratch;
  const std::string before = test::import_folder(folder, scratch.file("short"));
  const test::Expected expected(folder + "/" + kExpectedFile, test::model_of(before));
  const std::vector<float> wanted = logits_of(before, expected);
  const std::vector<Given> structures{
      {{"attention.window", "32"}},
      {{"attention.window", "32"}, {"attention.mark_first", "2"}, {"attention.mark_every", "5"}},
      {{"attention.kind", "window"}, {"attention.window", "32,64"}},
      {{"attention.kind", "bigbird"}, {"attention.block", "4"}}};
  int number = 0;
  for (const Given& given : structures) {
    const std::string name = std::to_string(number++),
                      of_files = test::import_folder(folder, scratch.file("a" + name),
                                                     to_context(64, given)),
                      of_run = refit_checkpoint(scratch.file("short"), scratch.file("b" + name),
                                                to_context(64, given), {});
    EXPECT_EQ(test::model_of(of_run).context, 64);
    EXPECT_TRUE(test::tensors_of(of_run) == test::tensors_of(of_files)) << name;
    const std::vector<float> found = logits_of(of_run, expected);
    EXPECT_LT(test::error_of(found.data(), wanted.data(), std::ssize(wanted)), 1e-6) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Encoders, ToContext,
                         testing::Values("roberta", "bert", "roberta_sequence", "bert_token"),
                         [](const auto& info) { return info.param; });

// RoBERTa's first two rows are of no place.
TEST(ToContextOf, RobertaIsALongformerThatGoesBackAsOne) {
  const Scratch scratch;
  const std::string path =
      test::import_folder(test::golden("roberta"), scratch.file("long"), to_context(40));
  const ModelConfig model = test::model_of(path);
  EXPECT_EQ(model.context, 40);
  EXPECT_EQ(model.attention.kinds, std::vector<std::string>{"global"});
  EXPECT_EQ(model.attention.windows, std::vector<int64_t>{512});
  EXPECT_EQ(model.attention.other.marks, (MarkRule{.first = 0}));
  const std::string before = test::import_folder(test::golden("roberta"), scratch.file("short"));
  const std::vector<float> table = tensor_of(before, "embedding.positions.weight"),
                           longer = tensor_of(path, "embedding.positions.weight");
  const int64_t width = model.d_model;
  ASSERT_EQ(std::ssize(longer), 42 * width);
  for (int64_t row = 0; row < 42; ++row) {
    const int64_t from = row < 2 ? row : 2 + (row - 2) % 16;
    EXPECT_EQ(std::memcmp(&longer[row * width], &table[from * width], width * sizeof(float)), 0)
        << row;
  }
  for (const char* each : {"q.weight", "k.bias", "v.weight"})
    EXPECT_EQ(tensor_of(path, std::string("block.1.attention.global_") + each),
              tensor_of(path, std::string("block.1.attention.") + each));
  test::export_folder(path, scratch.file("out"));
  const test::Json json = test::Json::parse(test::bytes_of_file(scratch.file("out/config.json")));
  EXPECT_EQ(json["model_type"], "longformer");
  EXPECT_EQ(json["architectures"][0], "LongformerForMaskedLM");
  EXPECT_EQ(json["max_position_embeddings"], 42);
  EXPECT_TRUE(test::tensors_of(test::import_folder(scratch.file("out"), scratch.file("again"))) ==
              test::tensors_of(path));
}

TEST(ToContextOf, AClassifierMarksItsFirstToken) {
  const Scratch scratch;
  test::import_folder(test::golden("roberta_sequence"), scratch.file("short"));
  const std::string path =
      refit_checkpoint(scratch.file("short"), scratch.file("long"), to_context(40), {});
  EXPECT_EQ(test::model_of(path).attention.other.marks, (MarkRule{.first = 1}));
  EXPECT_EQ(test::state_of(path).notes.text(), test::state_of(scratch.file("short")).notes.text());
  test::export_folder(path, scratch.file("out"));
  const test::Json json = test::Json::parse(test::bytes_of_file(scratch.file("out/config.json")));
  EXPECT_EQ(json["architectures"][0], "LongformerForSequenceClassification");
}

// What is long already keeps its structure and its own projections of marked tokens.
TEST(ToContextOf, ALongformerKeepsWhatItHas) {
  const Scratch scratch;
  const std::string before = test::import_folder(test::golden("longformer"), scratch.file("short")),
                    path = refit_checkpoint(before, scratch.file("long"), to_context(100), {});
  EXPECT_EQ(test::model_of(path).attention.windows, (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(tensor_of(path, "block.0.attention.global_k.weight"),
            tensor_of(before, "block.0.attention.global_k.weight"));
  const auto with = [&](const Given& given) {
    return Refit(test::model_of(before), to_context(100, given)).model().attention;
  };
  AttentionOptions marked = test::model_of(before).attention;
  marked.other.marks = {.first = 1};
  EXPECT_EQ(with({{"attention.mark_first", "1"}}), marked);
  EXPECT_EQ(with({{"attention.kind", "global"}, {"attention.mark_first", "1"}}), marked);
  EXPECT_EQ(with({{"attention.window", "6"}}).windows, std::vector<int64_t>{6});
  EXPECT_EQ(with({{"attention.kind", "window"}}).windows, std::vector<int64_t>{512});
}

TEST(ToContextOf, ABigBirdStaysOne) {
  const Scratch scratch;
  ModelConfig source =
      test::model_of(test::import_folder(test::golden("big_bird"), scratch.file("short")));
  const Refit made(source, to_context(300, {{"attention.random", "1"}}));
  source.attention.other.random = 1;
  EXPECT_EQ(made.model().attention, source.attention);
}

TEST(ToContextOf, OthersIsRefused) {
  const Scratch scratch;
  const auto of = [&](const std::string& golden, const ConvertConfig& config) {
    return refusal_of(
        [&] { test::import_folder(test::golden(golden), scratch.file("refused"), config); });
  };
  expect_text(of("roberta", to_context(16)), {"--to-context=16", "more than the 16 tokens"});
  expect_text(of("roberta", to_context(8)), {"--to-context=8", "more than the 16 tokens"});
  expect_text(of("gpt2", to_context(64)), {"encoders of texts", "model.architecture=gpt"});
  expect_text(of("t5", to_context(64)), {"encoders of texts", "model.architecture=transformer"});
  expect_text(of("vit", to_context(64)), {"encoders of texts", "model.architecture=vit"});
  expect_text(of("roberta", to_context(64, {{"attention.window", "5"}})),
              {"attention.window=5 must be even"});
  expect_text(
      of("roberta", to_context(64, {{"attention.kind", "fixed"}, {"attention.window", "8"}})),
      {"attention.window=8 is for attention.kind window, global and lsh"});
  expect_text(of("roberta", to_context(64, {{"attention.kind", "lsh"}, {"attention.window", "8"}})),
              {"--to-context=64 is not for attention.kind=lsh"});
  expect_text(of("roberta", to_context(64, {{"attention.kind", "near"}})),
              {"attention.kind has 'near'"});
  ConvertConfig config;
  config.attention = {{"attention.kind", "window"}};
  expect_text(of("roberta", config), {"attention.kind is for --to-context"});
}

TEST(ToContextOf, WavesNeedNoCopies) {
  const Scratch scratch;
  ModelConfig model = test::small_bert(false);
  model.positions = Positions::sinusoidal;
  test::save_fresh(scratch.file("short"), model, 1);
  const Refit refit(model, to_context(64));
  expect_text(refit.told(), {"context of 64 tokens instead of 8", "attention.kind=global",
                             "waves, which go on without copies"});
  const std::string path =
      refit_checkpoint(scratch.file("short"), scratch.file("long"), to_context(64), {});
  EXPECT_EQ(test::model_of(path).context, 64);
}

ConvertConfig sized(int64_t height, int64_t width) {
  ConvertConfig made;
  made.image_height = height;
  made.image_width = width;
  return made;
}

TEST(OtherPictures, GiveAVitResizedPositions) {
  const Scratch scratch;
  const std::string before = test::import_folder(test::golden("vit"), scratch.file("small")),
                    path = test::import_folder(test::golden("vit"), scratch.file("large"),
                                               sized(16, 20));
  const data::PictureForm from{3, 8, 12, 4, 4}, to{3, 16, 20, 4, 4};
  const char* const name = "embedding.positions.weight";
  EXPECT_EQ(tensor_of(path, name), resized_positions(tensor_of(before, name), from, to));
  EXPECT_EQ(test::model_of(path).context, 21);
  test::export_folder(path, scratch.file("out"));
  const auto json_of = [&](const char* file) {
    return test::Json::parse(test::bytes_of_file(scratch.file(std::string("out/") + file)));
  };
  EXPECT_EQ(json_of("config.json")["image_size"], (test::Json{16, 20}));
  EXPECT_EQ(json_of("preprocessor_config.json")["size"],
            (test::Json{{"height", 16}, {"width", 20}}));
  EXPECT_TRUE(test::tensors_of(test::import_folder(scratch.file("out"), scratch.file("again"))) ==
              test::tensors_of(path));
}

TEST(OtherPictures, GiveAMaeNewWaves) {
  const Scratch scratch;
  const std::string path =
      test::import_folder(test::golden("vit_mae"), scratch.file("large"), sized(12, 12));
  const ModelConfig model = test::model_of(path);
  for (const auto& [name, width] :
       {std::pair("embedding.positions.weight", model.d_model),
        std::pair("decoder.positions.weight", mae_options(model).decoder_width)}) {
    const std::vector<double> waves = grid_waves(6, 6, width, true);
    EXPECT_EQ(tensor_of(path, name), std::vector<float>(waves.begin(), waves.end())) << name;
  }
}

TEST(OtherPictures, FitASwinWithItsWindows) {
  const Scratch scratch;
  const std::string before = test::import_folder(test::golden("swin"), scratch.file("small")),
                    path = test::import_folder(test::golden("swin"), scratch.file("large"),
                                               sized(20, 30));
  EXPECT_TRUE(test::tensors_of(path) == test::tensors_of(before));
}

TEST(OtherPictures, ThatDoNotFitAreRefused) {
  const Scratch scratch;
  const auto of = [&](const std::string& golden, const ConvertConfig& config) {
    return refusal_of(
        [&] { test::import_folder(test::golden(golden), scratch.file("refused"), config); });
  };
  expect_text(of("vit", sized(10, 12)), {"pictures of 10 x 12", "patches of 4 x 4"});
  expect_text(of("swin", sized(4, 4)), {"windows within a grid of patches", "would be"});
  expect_text(of("bert", sized(16, 16)), {"for models of pictures", "an encoder"});
}

}  // namespace
}  // namespace skein::convert
