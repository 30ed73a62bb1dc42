// Every file in configs/ is a run that can be built, with the published number of parameters.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "skein/data/images/augment.h"
#include "skein/models/architecture.h"
#include "skein/train/config.h"

namespace skein::train {
namespace {

PretrainConfig read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  PretrainConfig config;
  Options options("test", "");
  bind(options, config);
  data::AugmentConfig augment;
  bind(options, augment);
  options.read_ini(text.str(), path.string());
  return config;
}

// As data would. side: of pictures.
void complete(ModelConfig& model, int64_t side = 224) {
  const Architecture& kind = *model.architecture;
  if (kind.reads() == Reads::graphs) {
    kind.take_graphs(model, {.node_ids = 10, .node_numbers = 8, .nodes = 41});
    return kind.begin_labels(model, Head::sequence, 10);
  }
  if (kind.reads() != Reads::pictures) {
    if (model.vocab_size == 0) model.vocab_size = 2048;
    if (kind.reads() == Reads::stories) kind.begin_labels(model, Head::sequence, model.vocab_size);
    return;
  }
  kind.take_pictures(model, {.channels = side == 28 ? 1 : 3, .height = side, .width = side});
  if (kind.picture_form(model).hidden == 0) kind.begin_labels(model, Head::sequence, 1000);
}

TEST(Configs, AllAreValid) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("../configs")) {
    if (entry.is_directory()) continue;  // languages
    PretrainConfig c = read(entry.path());
    complete(c.model, entry.path().stem().string().ends_with("digits") ? 28 : 224);
    EXPECT_NO_THROW(check(c.model, 1, false)) << entry.path();
    EXPECT_NO_THROW(check(c.lr, c.train.steps, c.train.global_batch * c.model.context))
        << entry.path();
    EXPECT_NO_THROW(plan_batch(c.parallel, {1, 1, 1}, c.train.global_batch, c.train.micro_batch))
        << entry.path();
    if (c.train.global_batch > 1) {  // else the data are one graph
      EXPECT_NO_THROW(plan_batch(c.parallel, {1, 2, 1}, c.train.global_batch, c.train.micro_batch))
          << entry.path();
    }
    ++count;
  }
  EXPECT_EQ(count, 42);
}

TEST(Configs, HaveThePublishedSizes) {
  const std::map<std::string, int64_t> published{
      {"gpt2_124m", 124'439'808},    {"gpt2_355m", 354'823'168},   {"gpt2_774m", 774'030'080},
      {"gpt2_1.5b", 1'557'611'200},  {"bert_base", 110'106'428},   {"bert_large", 336'226'108},
      {"roberta_base", 124'697'433}, {"llama2_7b", 6'738'415'616}, {"llama2_70b", 68'976'648'192}};
  for (const auto& [name, parameters] : published)
    EXPECT_EQ(read("../configs/" + name + ".ini").model.parameters(), parameters) << name;
  EXPECT_NEAR(static_cast<double>(read("../configs/gpt3_6.7b.ini").model.parameters()), 6.66e9,
              0.01e9);
  EXPECT_NEAR(static_cast<double>(read("../configs/gpt3_175b.ini").model.parameters()), 174.6e9,
              0.1e9);
}

// Counts of transformers' models on its meta device; Vaswani's paper says 65 and 213 million.
TEST(Configs, OfEncoderDecodersHaveThePublishedSizes) {
  const std::map<std::string, int64_t> published{
      {"t5_small", 60'506'624},       {"t5_base", 222'903'552},      {"t5_large", 737'668'096},
      {"t5_3b", 2'851'598'336},       {"t5_v1_1_small", 76'961'152}, {"t5_v1_1_base", 247'577'856},
      {"t5_v1_1_large", 783'150'080}, {"t5_v1_1_xl", 2'849'757'184}, {"bart_base", 139'420'416},
      {"bart_large", 406'291'456},    {"vaswani_base", 63'082'496},  {"vaswani_big", 214'245'376}};
  for (const auto& [name, parameters] : published)
    EXPECT_EQ(read("../configs/" + name + ".ini").model.parameters(), parameters) << name;
}

// Counts of timm's vit_base_patch16_224, vit_large_patch16_224 and swin_tiny_patch4_window7_224,
// and of what transformers' ViTMAEForPreTraining learns.
TEST(Configs, OfPicturesHaveThePublishedSizes) {
  for (const auto& [name, parameters] :
       {std::pair("vit_base", 86'567'656), std::pair("vit_large", 304'326'632),
        std::pair("swin_tiny", 28'288'354), std::pair("mae_base", 111'655'680)}) {
    PretrainConfig c = read(std::string("../configs/") + name + ".ini");
    complete(c.model);
    EXPECT_EQ(c.model.parameters(), parameters) << name;
  }
}

TEST(Configs, FitTheLayoutsTheyName) {
  const PretrainConfig large = read("../configs/gpt3_175b.ini"),
                       llama = read("../configs/llama2_70b.ini");
  EXPECT_NO_THROW(check(large.model, 8, true));
  EXPECT_NO_THROW(
      split_layers(std::vector<double>(static_cast<size_t>(large.model.n_layers), 1.0), 16, {}));
  EXPECT_NO_THROW(check(llama.model, 8, true));
  EXPECT_NO_THROW(
      split_layers(std::vector<double>(static_cast<size_t>(llama.model.n_layers), 1.0), 8, {}));
  EXPECT_NO_THROW(
      plan_batch(large.parallel, {16, 8, 8}, large.train.global_batch, large.train.micro_batch));
  EXPECT_NO_THROW(
      plan_batch(llama.parallel, {8, 4, 8}, llama.train.global_batch, llama.train.micro_batch));
}

TEST(Configs, OfGpt3FollowItsRatesInTokens) {
  for (const char* name : {"gpt3_6.7b", "gpt3_175b"}) {
    const PretrainConfig c = read(std::string("../configs/") + name + ".ini");
    const int64_t step = c.train.global_batch * c.model.context;
    const auto rate_after = [&](int64_t tokens) {
      return learning_rate(c.lr, {tokens / step - 1, tokens - step, c.train.steps, step}) / c.lr.lr;
    };
    EXPECT_NEAR(static_cast<double>(c.train.steps * step), 300e9, 1.5e9) << name;
    EXPECT_NEAR(rate_after(187'500'000), 0.5, 1e-9) << name;
    EXPECT_NEAR(rate_after(375'000'000), 1, 1e-9) << name;
    EXPECT_NEAR(rate_after(260'000'000'000), 0.1, 1e-9) << name;
    EXPECT_NEAR(rate_after(290'000'000'000), 0.1, 1e-9) << name;
  }
}

}  // namespace
}  // namespace skein::train
