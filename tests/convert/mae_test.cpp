// Masked autoencoders that come from other programs: names of their tensors, what is refused.
#include "skein/models/mae/mae.h"

#include <gtest/gtest.h>

#include "skein/convert/huggingface_config.h"

#include "convert/edited_golden.h"

namespace skein::convert {
namespace {

using test::edit_config;
using test::Json;
using test::Scratch;

// As all versions but transformers 5 write the decoder's blocks.
TEST(Maes, HaveBlocksOfEitherName) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "vit_mae");
  const std::string now = test::import_folder(folder, scratch.file("now"));
  bool renamed = false;
  test::rewrite(folder, [&](const std::string& name) {
    const std::string made = test::replaced(name, "decoder_encoder.layer", "decoder_layers");
    renamed = renamed || made != name;
    return made;
  });
  EXPECT_TRUE(renamed);
  const std::string before = test::import_folder(folder, scratch.file("before"));
  EXPECT_EQ(test::tensors_of(now), test::tensors_of(before));
  test::export_folder(before, scratch.file("back"));
  EXPECT_EQ(test::bytes_of_file(scratch.file("back") + "/model.safetensors"),
            test::bytes_of_file(folder + "/model.safetensors"));
}

// Files of the encoder alone have no prefix and lack the decoder.
TEST(Maes, OfAnEncoderAloneGetADecoder) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "vit_mae");
  const auto tensors = test::tensors_of(test::import_folder(folder, scratch.file("whole")));
  test::rewrite(folder, [](const std::string& name) {
    return name.starts_with("vit.") ? name.substr(4) : std::string();
  });
  edit_config(folder, [](Json& json) { json["architectures"] = {"ViTMAEModel"}; });
  test::refused(folder, {"decoder.mask_token", "--allow-missing"});
  ConvertConfig config;
  config.allow_missing = true;
  const std::string made = test::import_folder(folder, scratch.file("run"), config);
  const auto found = test::tensors_of(made);
  ASSERT_EQ(found.size(), tensors.size());
  for (const char* name : {"param/block.0.mlp.up.weight", "param/final_norm.gain"})
    EXPECT_EQ(found.at(name), tensors.at(name)) << name;
  EXPECT_NE(found.at("param/decoder.pixels.weight"), tensors.at("param/decoder.pixels.weight"));
}

TEST(Maes, SayWhatTheyHide) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "vit_mae");
  const std::string path = test::import_folder(folder, scratch.file("run"));
  const ModelConfig model = test::model_of(path);
  const MaeOptions& own = mae_options(model);
  EXPECT_EQ(model.n_layers, 3);
  EXPECT_EQ(own.decoder_layers, 2);
  EXPECT_EQ(own.decoder_width, 12);
  EXPECT_EQ(own.decoder_ff, 20);
  EXPECT_TRUE(own.norm_pixels);
  EXPECT_EQ(model.context, 5);
  const auto head = train::label_head(test::state_of(path).notes, path);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->picture_mean, (std::vector{0.5, 0.25, 0.75}));
  EXPECT_TRUE(head->labels.empty());
}

TEST(Maes, ThatAreNotKnownAreRefused) {
  struct Edit {
    std::string key;
    Json value;
    std::string said;
  };
  const std::vector<Edit> edits{
      {"qkv_bias", false, "attention of pictures has biases here"},
      {"image_size", {8, 12}, "read squares only"},
      {"patch_size", {2, 4}, "read squares only"},
      {"patch_size", 3, "do not divide into patches of 3 x 3"},
      {"decoder_num_hidden_layers", 0, "a number above 0"},
      {"num_hidden_layers", 0, "a number above 0"},
      {"decoder_hidden_size", 10, "model.decoder_width=10 to divide by 4"},
      {"decoder_num_attention_heads", 5, "does not divide by model.decoder_heads=5"},
      {"decoder_num_attention_heads", 2147483647, "model.decoder_heads is 2147483647"},
      {"decoder_intermediate_size", 2147483647, "model.decoder_ff is 2147483647"},
      {"mask_ratio", 1.5, "model.mask_ratio=1.5 must be above 0 and below 1"},
      {"mask_ratio", 0.99, "model.mask_ratio=0.99 hides 16 of the 16 patches"},
      {"mask_ratio", "0.75", "a number belongs there"},
      {"norm_pix_loss", 1, "true or false belongs there"},
      {"hidden_act", "gelu_10", "gelu_10"},
      {"architectures", {"ViTMAEForImageClassification"}, "a head that is not known here"}};
  for (const Edit& edit : edits) {
    const Scratch scratch;
    const std::string folder = test::copy_of(scratch, "vit_mae");
    edit_config(folder, [&](Json& json) { json[edit.key] = edit.value; });
    test::refused(folder, {edit.said});
  }
}

TEST(Maes, OfOptionsThatOtherProgramsLackStayHere) {
  ModelConfig model;
  model.architecture = &mae_architecture();
  model.vocab_size = 0;
  model.positions = Positions::sinusoidal;
  model.n_layers = 3;
  picture_options(model) = {.image_height = 8, .image_width = 12, .channels = 1, .patch_height = 2};
  test::expect_error(ExitCode::usage, {"vit_mae needs square pictures and patches"},
                     [&] { huggingface_names(model); });
}

}  // namespace
}  // namespace skein::convert
