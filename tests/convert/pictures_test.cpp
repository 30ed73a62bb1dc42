// Models of pictures that come from other programs: what is refused, and what goes back.
#include <gtest/gtest.h>

#include "skein/convert/huggingface_config.h"
#include "skein/models/swin/swin.h"

#include "convert/edited_golden.h"

namespace skein::convert {
namespace {

using test::edit_config;
using test::Json;
using test::Scratch;

constexpr char kUnits[] = "preprocessor_config.json";

struct Edit {
  std::string key;
  Json value;
  std::string said;
};

void expect_refusals(const std::string& golden, const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) {
    const Scratch scratch;
    const std::string folder = test::copy_of(scratch, golden);
    edit_config(folder, [&](Json& json) { json[edit.key] = edit.value; });
    test::refused(folder, {edit.key, edit.said});
  }
}

TEST(Pictures, OfVitThatAreNotKnownAreRefused) {
  expect_refusals("vit", {{"qkv_bias", false, "attention of pictures has biases here"},
                          {"image_size", {8, 12, 3}, "a height and a width belong there"},
                          {"image_size", {8, -1}, "a list of whole numbers from 0"},
                          {"hidden_act", "gelu_10", "gelu_10"}});
  const Scratch other;
  const std::string single = test::copy_of(other, "vit");
  edit_config(single, [](Json& json) { json["id2label"] = {{"0", "size"}}; });
  test::refused(single, {"a model of pictures with 1 output tells no classes"});
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "vit");
  edit_config(folder, [](Json& json) { json["patch_size"] = 5; });
  test::refused(folder, {"do not divide into patches of 5 x 5"});
  edit_config(folder, [](Json& json) { json["architectures"] = {"ViTForMaskedImageModeling"}; });
  test::refused(folder, {"ViTForMaskedImageModeling", "ViTForImageClassification is"});
  edit_config(folder, [](Json& json) { json["architectures"] = {"ViTModel"}; });
  test::refused(folder, {"ViTModel", "ViTForImageClassification is"});
  edit_config(folder, [](Json& json) { json.erase("architectures"); });
  test::refused(folder, {"a model without \"architectures\" is not known here"});
}

TEST(Pictures, OfSwinThatAreNotKnownAreRefused) {
  expect_refusals("swin", {{"use_absolute_embeddings", true, "biases by offset only"},
                           {"num_heads", {2, 2}, "twice the heads of the one before it"},
                           {"num_heads", {2}, "a number for each of the stages"},
                           {"depths", "2,2", "a list of whole numbers"},
                           {"window_size", 4, "the grid of stage 1 has 3 x 4 tokens only"},
                           {"image_size", 0, "sides above 0"},
                           {"mlp_ratio", 2.5, "a whole number from 1"},
                           {"mlp_ratio", 1e300, "a whole number from 1"}});
}

TEST(Pictures, OfSwinWithoutAKeyAreToldWhatItStandsFor) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "swin");
  edit_config(folder, [](Json& json) { json.erase("window_size"); });
  test::refused(folder, {"\"window_size\" is not given, and the grid of stage 0 has 5 x 7"});
}

void edit_units(const std::string& folder, const std::function<void(Json&)>& edit) {
  Json json = Json::parse(test::bytes_of_file(folder + "/" + kUnits));
  edit(json);
  test::write_file(folder + "/" + kUnits, json.dump());
}

train::LabelHead head_of(const std::string& folder, const Scratch& scratch,
                         const std::string& name) {
  const std::string path = test::import_folder(folder, scratch.file(name));
  const auto head = train::label_head(test::state_of(path).notes, path);
  return head ? *head : train::LabelHead{};
}

TEST(Pictures, AreReadInTheUnitsThatTheFolderSays) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "vit");
  const train::LabelHead head = head_of(folder, scratch, "a");
  EXPECT_EQ(head.picture_mean, (std::vector{0.5, 0.25, 0.75}));
  EXPECT_EQ(head.picture_deviation, (std::vector{0.25, 0.5, 0.125}));
  EXPECT_EQ(head.labels, (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
  edit_units(folder, [](Json& json) { json["do_normalize"] = false; });
  EXPECT_EQ(head_of(folder, scratch, "b").picture_deviation, (std::vector{1.0, 1.0, 1.0}));
  edit_units(folder, [](Json& json) {
    json["do_normalize"] = true;
    json["image_mean"] = {0.5};
  });
  test::refused(folder, {"image_mean", "the model reads 3 channels"});
  edit_units(folder, [](Json& json) {
    json["image_mean"] = {0.5, 0.5, 0.5};
    json["image_std"] = {0.5, 0, 0.5};
  });
  test::refused(folder, {"image_std"});
  edit_units(folder, [](Json& json) { json["rescale_factor"] = 0.5; });
  test::refused(folder, {"rescale_factor", "value / 255"});
  std::filesystem::remove(folder + "/" + kUnits);
  EXPECT_FALSE(head_of(folder, scratch, "c").reads_images());
}

// ImageNet's 1,000 classes have two cranes.
TEST(Pictures, OfClassesWithOneNameAreToldApart) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "vit");
  edit_config(folder, [](Json& json) {
    json["id2label"] = {{"0", "crane"}, {"1", "cat"}, {"2", "crane"}};
    json["label2id"] = {{"crane", 2}, {"cat", 1}};
  });
  EXPECT_EQ(head_of(folder, scratch, "a").labels,
            (std::vector<std::string>{"crane (0)", "cat", "crane (2)"}));
  test::export_folder(scratch.file("a"), scratch.file("back"));
  EXPECT_EQ(test::bytes_of_file(scratch.file("back") + "/config.json"),
            test::bytes_of_file(folder + "/config.json"));
  edit_config(folder, [](Json& json) { json["id2label"]["1"] = "crane (0)"; });
  EXPECT_EQ(head_of(folder, scratch, "c").labels,
            (std::vector<std::string>{"crane (0) (0)", "crane (0)", "crane (2)"}));
  edit_config(folder, [](Json& json) { json["id2label"].erase("1"); });
  edit_config(folder, [](Json& json) { json["id2label"]["x"] = "cat"; });
  EXPECT_EQ(head_of(folder, scratch, "b").labels,
            (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
}

TEST(Pictures, GoBackWithTheirUnits) {
  const Scratch scratch;
  const std::string path = test::import_folder(test::golden("vit"), scratch.file("run"));
  const ModelConfig model = test::model_of(path);
  auto head = train::label_head(test::state_of(path).notes, path);
  const std::string before = test::bytes_of_file(test::golden("vit") + "/" + kUnits);
  EXPECT_EQ(preprocessor_config(model, *head, before), before);
  const Json fresh = Json::parse(preprocessor_config(model, *head, ""));
  EXPECT_EQ(fresh, Json::parse(before));
  head->picture_mean[1] = 0.125;
  Json changed = fresh;
  changed["image_mean"][1] = 0.125;
  EXPECT_EQ(Json::parse(preprocessor_config(model, *head, before)), changed);
  Json odd = fresh;
  odd["do_normalize"] = "yes";
  odd["do_rescale"] = false;
  EXPECT_EQ(Json::parse(preprocessor_config(model, *head, odd.dump())), changed);
  test::expect_error(ExitCode::usage, {"preprocessor_config.json of the import"},
                     [&] { preprocessor_config(model, *head, "[1]"); });
}

TEST(Pictures, ComeToTheirSizeAsTheFolderSays) {
  using data::Fit, data::Fitting, data::Resampling;
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "vit");  // of 8 x 12 pixels
  int times = 0;
  const auto found = [&](const Json& patch) {
    edit_units(folder, [&](Json& json) { json.merge_patch(patch); });
    return head_of(folder, scratch, std::to_string(times++)).fitting;
  };
  EXPECT_EQ(found(Json::object()), (Fitting{Fit::stretch, Resampling::bilinear}));
  EXPECT_EQ(found({{"resample", 3}}), (Fitting{Fit::stretch, Resampling::bicubic}));
  EXPECT_EQ(found({{"do_center_crop", true},
                   {"size", {{"height", 10}, {"width", 18}}},
                   {"crop_size", {{"height", 8}, {"width", 12}}}}),
            (Fitting{Fit::stretch, Resampling::bicubic, 10, 18}));
  const Json shorter{{"height", nullptr}, {"width", nullptr}, {"shortest_edge", 8}};
  EXPECT_EQ(found({{"size", shorter}}), Fitting{});  // not known: no square
  EXPECT_EQ(found({{"crop_size", 8}}), (Fitting{Fit::cut, Resampling::bicubic}));
  EXPECT_EQ(found({{"size", 16}}), (Fitting{Fit::stretch, Resampling::bicubic, 16, 24}));
  EXPECT_EQ(found({{"resample", 1}}), Fitting{});  // Lanczos
  EXPECT_EQ(found({{"do_resize", false}, {"do_center_crop", false}}), Fitting{Fit::none});
}

TEST(Pictures, GoBackWithWhatBringsThemToTheirSize) {
  using data::Fit, data::Resampling;
  const Scratch scratch;
  const std::string path = test::import_folder(test::golden("vit"), scratch.file("run"));
  ModelConfig model = test::model_of(path);
  train::LabelHead head = *train::label_head(test::state_of(path).notes, path);
  const std::string before = test::bytes_of_file(test::golden("vit") + "/" + kUnits);
  const auto written = [&](const data::Fitting& how, const std::string& had) {
    head.fitting = how;
    return Json::parse(preprocessor_config(model, head, had));
  };
  const Json large = written({Fit::stretch, Resampling::bicubic, 10, 18}, "");
  EXPECT_EQ(large["size"], (Json{{"height", 10}, {"width", 18}}));
  EXPECT_EQ(large["crop_size"], (Json{{"height", 8}, {"width", 12}}));
  EXPECT_EQ(large["resample"], 3);
  EXPECT_EQ(written({Fit::none}, before)["do_resize"], false);
  // What was cut at the import is what a run that begins with it cuts no more.
  EXPECT_EQ(written({Fit::stretch, Resampling::bilinear}, large.dump())["do_center_crop"], false);
  picture_options(model).image_width = 8;
  const Json cut = written({}, before);
  EXPECT_EQ(cut["size"], (Json{{"shortest_edge", 8}}));
  EXPECT_EQ(cut["do_center_crop"], true);
}

TEST(Pictures, HaveNoTokenizer) {
  const Scratch scratch;
  ConvertConfig config;
  config.tokenizer = "any";
  test::refused(test::golden("vit"), {"--tokenizer=any is for models of texts"}, config);
}

TEST(Pictures, OfOptionsThatOtherProgramsLackStayHere) {
  ModelConfig model;
  model.architecture = &swin_architecture();
  model.vocab_size = 0;
  model.positions = Positions::distance;
  model.head = Head::sequence;
  model.labels = 3;
  model.n_layers = 2;
  picture_options(model) = {.image_height = 8, .image_width = 8, .channels = 1, .patch_height = 2};
  swin_options(model) = {.depths = {1, 1}, .window_side = 4};
  model.norm_epsilon = 1e-2;
  test::expect_error(ExitCode::usage,
                     {"swin needs model.embedding_norm", "model.norm_epsilon=1e-5",
                      "no stage's grid is smaller than"},
                     [&] { huggingface_names(model); });
}

}  // namespace
}  // namespace skein::convert
