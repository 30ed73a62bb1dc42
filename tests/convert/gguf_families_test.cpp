// Files of GGUF by families of models: against gguf's own reader (tools/make_gguf_golden.py), what
// they say of the model, and which models llama.cpp has none for.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

#include "convert/gguf_export.h"

namespace skein::convert {
namespace {

class Listed : public testing::TestWithParam<std::string> {};

// convert/golden/gguf has the lists that gguf's reader made of these files.
TEST_P(Listed, AsItsAuthorsReadIt) {
  const Scratch scratch;
  test::write_file(scratch.file("tokenizer.json"), kTokenizer);
  ConvertConfig with;
  with.tokenizer = scratch.file("tokenizer.json");
  test::import_folder(test::golden(GetParam()), scratch.file("run"), with);
  const GgufFile made = exported(scratch.file("run"), scratch.file("model.gguf"));
  EXPECT_EQ(made.list(), test::bytes_of_file("convert/golden/gguf/" + GetParam() + ".txt"));
}

INSTANTIATE_TEST_SUITE_P(Golden, Listed,
                         testing::Values("gpt2", "gpt2_untied", "llama", "mistral", "qwen2",
                                         "qwen3", "phi3", "phi3_long", "gemma3"),
                         [](const auto& info) { return info.param; });

TEST(GgufExport, RefusesModelsThatNoneKnows) {
  const train::RunState state = state_with(kTokenizer);
  expect_refused(test::small_bert(false), state, {"qwen3, phi3 or gemma3_text", "known as bert"});
  ModelConfig c = test::small_model();
  c.activation = MlpKind::gelu_erf;
  expect_refused(c, state, {"model.activation=gelu_tanh", "gelu_erf"});
  c = test::small_model();
  c.norm = ops::Norm::rms;
  expect_refused(c, state, {"gpt2 needs layer norm", "llama needs model.positions=rotary"});
  c = wide_llama();
  c.d_head = 32;
  expect_refused(c, state, {"biases of attention", "64", "4 heads of 32", "model.d_head"});
  c = wide_llama();
  c.rope_scaling = RopeScaling::yarn;
  expect_refused(c, state,
                 {"model.rope_low_frequency=1", "model.rope_high_frequency=32", "1 and 4"});
  c = wide_llama();
  c.attention_out_bias = false;
  expect_refused(c, state, {"knows no qwen2 with model.rope_scaling=llama3"});
  c.rope_scaling = RopeScaling::none;
  c.d_head = 32;
  expect_refused(c, state, {"heads of a qwen2", "64", "4 heads of 32"});
  c.attention_out_bias = c.qk_norm = true;
  expect_refused(c, state, {"no biases of attention of a qwen3"});
  c = test::small_model();
  c.head = Head::sequence;
  c.labels = 3;
  expect_refused(c, state, {"logits over its vocabulary", "3 numbers"});
}

ModelConfig small_neox() {
  ModelConfig c = test::small_model();
  c.positions = Positions::rotary;
  c.d_model = 16;  // heads of 4
  c.rope_width = 2;
  c.parallel_blocks = true;
  return c;
}

// llama.cpp has the queries of all heads first, where Hugging Face deals the heads, and always
// weights of the output.
TEST(GgufExport, OfNeoxHasPartsOneAfterTheOther) {
  const Scratch scratch;
  test::save_fresh(scratch.file("run"), small_neox(), 1, state_with(kTokenizer));
  const std::string run = scratch.file("run");
  const GgufFile made = exported(run, scratch.file("model.gguf"));
  EXPECT_EQ(made.value("general.architecture"), "gptneox");
  EXPECT_EQ(made.value("gptneox.rope.dimension_count"), 2);
  EXPECT_EQ(made.value("gptneox.use_parallel_residual"), true);
  std::vector<float> wanted;
  for (const char* part : {"q", "k", "v"}) {
    const auto values = weights_of(run, fmt::format("block.1.attention.{}.weight", part));
    wanted.insert(wanted.end(), values.begin(), values.end());
  }
  EXPECT_EQ(floats_of(made.tensor("blk.1.attn_qkv.weight").bytes), wanted);
  EXPECT_EQ(floats_of(made.tensor("output.weight").bytes),
            weights_of(run, "embedding.tokens.weight"));
  ModelConfig erf = small_neox();
  erf.activation = MlpKind::gelu_erf;
  expect_refused(erf, state_with(kTokenizer),
                 {"every gptneox with model.activation=gelu_tanh", "gelu_erf"});
}

// Which llama.cpp does not compute: within a window's length there is nothing that it would hide.
TEST(GgufExport, IsForTextsNoLongerThanAWindow) {
  const Scratch scratch;
  ModelConfig c = wide_llama();
  c.attention_bias = false;
  c.attention = windowed(5);
  test::save_fresh(scratch.file("run"), c, 1, state_with(kTokenizer));
  const GgufFile made = exported(scratch.file("run"), scratch.file("model.gguf"));
  EXPECT_EQ(made.value("general.architecture"), "llama");
  EXPECT_EQ(made.value("llama.context_length"), 5);
  EXPECT_NE(test::bytes_of_file(scratch.file("model.Modelfile")).find("num_ctx 5\n"),
            std::string::npos);
}

TEST(GgufExport, SaysHowPositionsAreStretched) {
  const Scratch scratch;
  const auto values = [&](const ModelConfig& c, const std::string& name) {
    test::save_fresh(scratch.file(name), c, 1, state_with(kTokenizer));
    return exported(scratch.file(name), scratch.file(name + ".gguf"));
  };
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  ModelConfig c = wide_llama();
  c.rope_scaling = RopeScaling::yarn;
  c.rope_high_frequency = 32;
  const GgufFile usual = values(c, "usual");
  EXPECT_EQ(usual.value("llama.rope.scaling.type"), "yarn");
  EXPECT_EQ(usual.value("llama.rope.scaling.factor"), bits(8));
  EXPECT_EQ(usual.value("llama.rope.scaling.original_context_length"), 32);
  EXPECT_EQ(usual.value("llama.rope.scaling.attn_factor"), nullptr) << "llama.cpp makes it itself";
  c.rope_amplitude = 1.5;
  EXPECT_EQ(values(c, "own").value("llama.rope.scaling.attn_factor"),
            bits(static_cast<float>(1.5 / (0.1 * std::log(8.0) + 1))));
  c.rope_scaling = RopeScaling::longrope;
  c.rope_factors = {1, 1.5, 2, 3, 4, 6, 8, 16};
  const GgufFile factors = values(c, "factors");
  EXPECT_EQ(factors.value("llama.rope.scaling.attn_factor"), bits(1.5F));
  EXPECT_EQ(floats_of(factors.tensor("rope_freqs.weight").bytes),
            (std::vector<float>{1, 1.5, 2, 3, 4, 6, 8, 16}));
}

ModelConfig small_gemma() {
  ModelConfig c = test::small_model();
  c.n_layers = 6;
  c.d_head = 4;
  c.positions = Positions::rotary;
  c.rope_window_theta = 10000;
  c.norm = ops::Norm::rms_zero_centered;
  c.norm_placement = NormPlacement::sandwich;
  c.activation = MlpKind::geglu_tanh;
  c.bias = false;
  c.qk_norm = c.scale_embeddings = true;
  c.attention.kinds = {"window", "window", "window", "window", "window", "full"};
  c.attention.windows = {3};
  return c;
}

TEST(GgufExport, OfGemmaHasGainsAsTheyAreApplied) {
  const Scratch scratch;
  test::save_fresh(scratch.file("run"), small_gemma(), 1, state_with(kTokenizer));
  const GgufFile made = exported(scratch.file("run"), scratch.file("model.gguf"));
  EXPECT_EQ(made.value("gemma3.attention.sliding_window"), 3);
  EXPECT_EQ(made.value("gemma3.context_length"), 8);
  std::vector<float> wanted = weights_of(scratch.file("run"), "block.5.result_norm_2.gain");
  for (float& one : wanted) one += 1;
  EXPECT_EQ(floats_of(made.tensor("blk.5.post_ffw_norm.weight").bytes), wanted);
}

TEST(GgufExport, OfGemmaIsAsLlamaCppMakesIt) {
  const auto refused = [&](const std::function<void(ModelConfig&)>& edit,
                           std::initializer_list<std::string> words) {
    ModelConfig c = small_gemma();
    edit(c);
    expect_refused(c, state_with(kTokenizer), words);
  };
  refused([](ModelConfig& c) { c.attention.kinds = {"window"}; },
          {"all but every sixth layer of a gemma3 a window", "layer 6"});
  refused([](ModelConfig& c) { c.rope_window_theta = 50; },
          {"model.rope_window_theta=10000, not 50"});
  refused([](ModelConfig& c) { c.activation = MlpKind::geglu_erf; },
          {"model.activation=geglu_tanh", "geglu_erf"});
  refused([](ModelConfig& c) { c.score_width = 7; }, {"gemma3 of 6 layers", "root of 4", "of 7"});
  refused([](ModelConfig& c) { c.tie_embeddings = false; }, {"model.tie_embeddings"});
  refused([](ModelConfig& c) { c.attention_bias = true; }, {"biases of attention of a gemma3"});
}

}  // namespace
}  // namespace skein::convert
