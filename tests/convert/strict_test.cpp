// What is refused, what an option lets pass, and what is understood in other spellings.
#include <functional>
#include <gtest/gtest.h>

#include "skein/convert/huggingface_config.h"
#include "skein/core/json.h"

#include "convert/edited_golden.h"
#include "convert/golden_folder.h"

namespace skein::convert {
namespace {

using Json = nlohmann::json;
using test::edit_config;
using test::refused;
using test::replaced;
using test::rewrite;
using test::Scratch;

std::string same(const std::string& name) { return name; }

TEST(Strict, ListsWhatIsMissingUnexpectedAndMisshapen) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "gpt2");
  rewrite(folder,
          [](const std::string& name) { return name == "transformer.h.1.ln_2.bias" ? "" : name; },
          {"transformer.h.7.stray"});
  refused(folder, {"missing", "transformer.h.1.ln_2.bias", "--allow-missing", "unexpected",
                   "transformer.h.7.stray", "--allow-unexpected"});
  ConvertConfig config;
  config.allow_missing = true;
  refused(folder, {"unexpected"}, config);
  config.allow_unexpected = true;
  test::import_folder(folder, scratch.file("run"), config);
  edit_config(folder, [](Json& json) { json["n_positions"] = 15; });
  refused(folder,
          {"another shape", "transformer.wpe.weight is [16,24] there; the model's has [15,24]"},
          config);
}

TEST(Strict, GivesMissingHeadsTheirStartValues) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "bert");
  rewrite(folder, [](const std::string& name) { return name.starts_with("cls.") ? "" : name; });
  refused(folder, {"cls.predictions.transform.dense.weight", "cls.seq_relationship.weight"});
  ConvertConfig config;
  config.allow_missing = true;
  test::import_folder(folder, scratch.file("run"), config);
  test::import_folder(test::golden("bert"), scratch.file("whole"));
  const auto made = test::tensors_of(scratch.file("run")),
             whole = test::tensors_of(scratch.file("whole"));
  ASSERT_EQ(made.size(), whole.size());
  EXPECT_EQ(made.at("param/block.1.mlp.up.weight"), whole.at("param/block.1.mlp.up.weight"));
  EXPECT_NE(made.at("param/head.dense.weight"), whole.at("param/head.dense.weight"));
  EXPECT_NE(made.at("param/head.dense.weight").find_first_not_of('\0', 10), std::string::npos);
}

TEST(Spellings, OfNamesAreTheSameModel) {
  const Scratch scratch;
  struct Case {
    const char* name;
    std::function<std::string(const std::string&)> rename;
  };
  const std::vector<Case> cases = {
      {"gpt2", [](const std::string& name) { return replaced(name, "transformer.", ""); }},
      {"llama_biased", [](const std::string& name) { return replaced(name, "model.", ""); }},
      {"bert",
       [](const std::string& name) {
         return replaced(replaced(name, "LayerNorm.weight", "LayerNorm.gamma"), "LayerNorm.bias",
                         "LayerNorm.beta");
       }},
      {"bert",
       [](const std::string& name) {
         return name == "cls.predictions.bias" ? "cls.predictions.decoder.bias" : name;
       }},
      {"roberta", [](const std::string& name) {
         return name == "lm_head.bias" ? "lm_head.decoder.bias" : name;
       }}};
  int number = 0;
  for (const Case& one : cases) {
    const Scratch inner;
    const std::string folder = test::copy_of(inner, one.name),
                      run = scratch.file(fmt::format("run-{}", ++number));
    rewrite(folder, one.rename);
    test::import_folder(folder, run);
    test::import_folder(test::golden(one.name), run + "-wanted");
    EXPECT_TRUE(test::tensors_of(run) == test::tensors_of(run + "-wanted")) << number;
    test::export_folder(run, run + "-back");
    EXPECT_TRUE(test::bytes_of_file(run + "-back/model.safetensors") ==
                test::bytes_of_file(folder + "/model.safetensors"))
        << number;
  }
}

TEST(Spellings, BuffersAreLeftOut) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "gpt2");
  rewrite(folder, same, {"transformer.h.0.attn.bias", "h.1.attn.masked_bias"});
  test::import_folder(folder, scratch.file("run"));
  rewrite(folder, same, {"transformer.h.x.attn.bias"});
  refused(folder, {"unexpected", "transformer.h.x.attn.bias"});
}

// Before names are made for all of them.
TEST(Layers, AreNoMoreThanThereAreTensors) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "gpt2");
  edit_config(folder, [](Json& json) { json["n_layer"] = 9999; });
  refused(folder, {folder + "/config.json", "9999 layers", "tensors"});
}

TEST(Ties, MustBeTrue) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "gpt2");
  const auto with_head = [&](bool equal) {
    test::edit_tensors(folder, [&](test::TensorsByName& all) {
      test::TensorBytes& head = all["lm_head.weight"] = all.at("transformer.wte.weight");
      if (!equal) head.bytes.back() ^= std::byte{1};
    });
  };
  with_head(true);
  test::import_folder(folder, scratch.file("run"));
  test::export_folder(scratch.file("run"), scratch.file("back"));
  EXPECT_TRUE(test::bytes_of_file(scratch.file("back") + "/model.safetensors") ==
              test::bytes_of_file(folder + "/model.safetensors"));
  with_head(false);
  refused(folder,
          {"lm_head.weight is said to be tied to transformer.wte.weight", "tie_word_embeddings"});
  edit_config(folder, [](Json& json) { json["tie_word_embeddings"] = false; });
  test::import_folder(folder, scratch.file("untied"));
  EXPECT_TRUE(test::tensors_of(scratch.file("untied")).contains("param/head.weight"));
}

TEST(Config, RefusesWhatNoModelHereDoes) {
  struct Case {
    const char *name, *key, *value, *reason;
  };
  const std::vector<Case> cases = {
      {"gpt2", "scale_attn_by_inverse_layer_idx", "true", "scales alike"},
      {"gpt2", "scale_attn_weights", "false", "divides its scores"},
      {"swin", "layer_norm_eps", "0.01", "1e-5 in any case"},
      {"gpt2", "activation_function", "\"mish\"", "gelu_new"},
      {"gpt2", "add_cross_attention", "true", "no cross attention"},
      {"gpt2", "model_type", "\"umt5\"", "vit_mae, longformer and big_bird are known"},
      {"llama", "model_type", "\"gemma\"", "\"model_type\" is \"gemma\";"},
      {"gemma3", "model_type", "\"gemma2\"", "\"model_type\" is \"gemma2\";"},
      {"gemma3", "model_type", "\"gemma3\"", "\"model_type\" is \"gemma3\";"},
      {"phi3", "model_type", "\"phi\"", "\"model_type\" is \"phi\";"},
      {"mistral", "model_type", "\"mixtral\"", "\"model_type\" is \"mixtral\";"},
      {"gpt2", "n_embd", "-3", "whole number from 0"},
      {"gpt2", "n_layer", "1e30", "whole number from 0"},
      {"gpt2", "n_layer", "2000000000", "10000 is the most"},
      {"gpt2", "n_head", "0", "model.n_heads is 0"},
      {"gpt2", "n_head", "5", "does not divide"},
      {"gpt2", "layer_norm_epsilon", "-1", "model.norm_epsilon is -1"},
      {"gpt2", "vocab_size", "null", "lacks \"vocab_size\""},
      {"gpt2", "architectures", "[\"GPT2ForQuestionAnswering\"]", "not known here"},
      {"gpt2", "architectures", "[\"GPT2ForTokenClassification\"]", "head with a bias"},
      {"gpt2", "architectures", "[]", "no list of names"},
      {"gpt2", "architectures", "[\"GPT2DoubleHeadsModel\"]", "not known here"},
      {"gpt2", "architectures", "[\"LlamaForCausalLM\"]",
       "those of \"model_type\" gpt2 begin with GPT2"},
      {"gpt2", "num_attention_heads", "2",
       "\"n_head\" is 4, but \"num_attention_heads\", which means the same, is 2"},
      {"gpt2", "hidden_size", "12", "\"n_embd\" is 24, but \"hidden_size\""},
      {"gpt2", "num_hidden_layers", "1", "\"n_layer\" is 2, but \"num_hidden_layers\""},
      {"gpt2", "max_position_embeddings", "8",
       "\"n_positions\" is 16, but \"max_position_embeddings\""},
      {"gpt2", "is_causal", "false", "decoders here see only what was before"},
      {"gpt2", "auto_map", "{\"AutoModelForCausalLM\": \"mine.Model\"}", "code of its own"},
      {"gpt2", "quantization_config", "{}", "quantised"},
      {"llama", "rope_parameters", "{\"rope_type\": \"dynamic\"}", "lacks \"factor\""},
      {"llama", "rope_parameters", "{\"rope_type\": \"proportional\"}",
       "known for this family are linear, llama3, yarn, dynamic, longrope"},
      {"llama", "rope_parameters", "{\"rope_type\": \"longrope\", \"short_factor\": [1, 2]}",
       "lacks \"long_factor\""},
      {"llama", "rope_parameters",
       "{\"rope_type\": \"longrope\", \"short_factor\": [1, 2], \"long_factor\": [1, 2]}",
       "model.rope_factors has 2 numbers; model.rope_scaling=longrope needs 4"},
      {"llama", "rope_parameters",
       "{\"rope_type\": \"longrope\", \"short_factor\": [1, -2, 1, 1], \"long_factor\": [1]}",
       "model.rope_factors has -2; all must be above 0"},
      {"llama", "rope_parameters",
       "{\"rope_type\": \"longrope\", \"short_factor\": 2, \"long_factor\": [1]}",
       "\"short_factor\" is 2, and a list of numbers belongs there"},
      {"phi3", "rope_parameters", "{\"rope_type\": \"linear\", \"factor\": 2}",
       "known for this family are longrope"},
      {"phi3_long", "original_max_position_embeddings", "32",
       "\"original_max_position_embeddings\" is 16, but 32 beside it"},
      {"phi3", "hidden_act", "\"gelu\"", "silu"},
      {"gemma3", "final_logit_softcapping", "30.0", "scores and logits have no cap here"},
      {"gemma3", "attn_logit_softcapping", "50.0", "scores and logits have no cap here"},
      {"gemma3", "use_bidirectional_attention", "true", "decoders here see only what was before"},
      {"gemma3", "sliding_window", "null", "some layers have a window"},
      {"gemma3", "rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 8}",
       "\"rope_parameters\" says the same; take out the wrong one"},
      {"gemma3", "rope_parameters", "{\"rope_type\": \"linear\", \"factor\": 8}",
       "beside full_attention and sliding_attention"},
      {"gemma3", "rope_parameters", "{\"sliding_attention\": {\"rope_type\": \"linear\"}}",
       "known for this family are dynamic"},
      {"gemma3", "num_hidden_layers", "2000000000", "10000 is the most"},
      {"llama", "rope_parameters", "{\"rope_type\": \"yarn\", \"factor\": 2, \"truncate\": false}",
       "\"truncate\" is false, and the ends of what yarn blends are whole numbers here"},
      {"llama", "rope_parameters",
       "{\"rope_type\": \"yarn\", \"factor\": 2, \"attention_factor\": -1}",
       "\"attention_factor\" is -1, and must make a factor above 0"},
      {"llama", "rope_parameters",
       "{\"rope_type\": \"yarn\", \"factor\": 2, \"mscale\": -99, \"mscale_all_dim\": 1}",
       "\"mscale\" is -99, and must make a factor above 0"},
      {"llama", "rope_parameters", "{\"full_attention\": {\"rope_theta\": 5}}",
       "all layers have the same positions here"},
      {"mistral", "sliding_window", "0", "attention.window is 0"},
      {"mistral", "layer_types", "[\"sliding_attention\", \"full_attention\"]",
       "all layers of such a model are of sliding_attention by \"sliding_window\""},
      {"mistral_full", "layer_types", "[\"sliding_attention\", \"full_attention\"]",
       "all layers of such a model are of full_attention by \"sliding_window\""},
      {"qwen2", "layer_types", "[\"sliding_attention\", \"full_attention\"]",
       "\"use_sliding_window\" and \"sliding_window\" give its layers no window"},
      {"qwen2", "layer_types", "[\"full_attention\"]", "a list of 2 names belongs there"},
      {"qwen2", "layer_types", "[\"full_attention\", \"chunked_attention\"]",
       "layers of full_attention and sliding_attention are known here"},
      {"qwen2", "num_hidden_layers", "2000000000", "10000 is the most"},
      {"qwen2", "hidden_act", "\"gelu\"", "silu"},
      {"qwen3", "head_dim", "7", "even head width, not 7"},
      {"opt", "do_layer_norm_before", "false", "norms of this family stand before each half block"},
      {"opt", "_remove_final_layer_norm", "true", "end in a norm here"},
      {"opt", "enable_bias", "false", "all layers of this family have biases here"},
      {"opt", "layer_norm_elementwise_affine", "false", "norms here learn a gain and a bias"},
      {"opt", "word_embed_proj_dim", "8", "embeddings here are as wide as the model, 16"},
      {"gpt_neox", "attention_bias", "false", "attention of this family has biases here"},
      {"gpt_neox", "rope_parameters", "{\"partial_rotary_factor\": 0.4}",
       "\"partial_rotary_factor\" is 0.4, which turns 3 numbers of a head of 8"},
      {"gpt_neox", "rope_parameters", "{\"partial_rotary_factor\": 0.1}",
       "turns no pair of a head of 8"},
      {"gpt_neox", "rope_parameters", "{\"partial_rotary_factor\": 1.5}",
       "turns no pair of a head of 8, or more than it"},
      {"gpt_neox", "num_attention_heads", "0", "model.n_heads is 0"},
      {"llama", "rope_parameters", "3", "no object"},
      {"llama", "rope_parameters", "{\"rope_type\": \"linear\"}", "lacks \"factor\""},
      {"llama", "rope_parameters", "{\"rope_type\": \"llama3\", \"factor\": 8}",
       "lacks \"low_freq_factor\""},
      {"llama", "rope_parameters", "{\"partial_rotary_factor\": 0.5}",
       "positions of this family turn whole heads"},
      {"llama", "partial_rotary_factor", "0.5", "positions of this family turn whole heads"},
      {"llama", "rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 2}",
       "two names of the same and differ"},
      {"llama", "original_max_position_embeddings", "8",
       "\"original_max_position_embeddings\" is 16, but 8 beside it"},
      {"llama", "is_causal", "false", "decoders here see only what was before"},
      {"llama", "mlp_bias", "true", "no biases where attention has none"},
      {"llama", "hidden_act", "\"gelu\"", "silu"},
      {"bert", "is_decoder", "true", "whole sequence"},
      {"bert", "is_causal", "true", "encoders here see the whole sequence"},
      {"bert", "add_cross_attention", "true", "no cross attention"},
      {"bert", "hidden_act", "\"mish\"", "gelu_accurate, relu, silu"},
      {"bert", "architectures", "[\"BertForQuestionAnswering\"]", "not known here"},
      {"bert", "architectures", "[\"RobertaForMaskedLM\"]",
       "those of \"model_type\" bert begin with Bert"},
      {"roberta", "is_causal", "true", "encoders here see the whole sequence"},
      {"roberta", "position_embedding_type", "\"relative_key_query\"", "absolute"},
      {"roberta", "architectures", "[\"RobertaForMultipleChoice\"]", "not known here"},
      {"bert", "position_embedding_type", "\"relative_key\"", "absolute"},
      {"roberta", "max_position_embeddings", "2", "model.context is 0"}};
  for (const Case& one : cases) {
    const Scratch scratch;
    const std::string folder = test::copy_of(scratch, one.name);
    edit_config(folder, [&](Json& json) { json[one.key] = Json::parse(one.value); });
    refused(folder, {folder + "/config.json", one.reason});
  }
}

TEST(Config, UnderstandsBothSpellings) {
  const std::string head =
      R"({"model_type": "llama", "vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
                              "intermediate_size": 12, "max_position_embeddings": 64, )";
  const auto model = [&](const std::string& rest) {
    return model_values(model_from_huggingface(head + rest + "}", "here", {}));
  };
  const auto old = model(
      R"("rope_theta": 5e5, "rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
                            "original_max_position_embeddings": 32})");
  EXPECT_EQ(
      old,
      model(
          R"("rope_parameters": {"rope_theta": 5e5, "rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
                            "high_freq_factor": 4, "original_max_position_embeddings": 32})"));
  EXPECT_EQ(old.at("model.rope_scaling"), "llama3");
  EXPECT_EQ(model(R"("rope_scaling": null)").at("model.rope_scaling"), "none");
  EXPECT_EQ(model(R"("rope_scaling": {"rope_type": "default"})"), model(R"("rope_theta": 10000)"));
}

TEST(Config, TakesTwoNamesThatSayTheSame) {
  const Json gpt2 = Json::parse(test::bytes_of_file(test::golden("gpt2") + "/config.json"));
  Json both = gpt2;
  both.update({{"n_ctx", 16},
               {"hidden_size", 24},
               {"num_hidden_layers", 2},
               {"num_attention_heads", 4},
               {"max_position_embeddings", 16}});
  const ModelConfig model = model_from_huggingface(both.dump(), "here", {});
  EXPECT_EQ(model_values(model), model_values(model_from_huggingface(gpt2.dump(), "here", {})));
  ModelConfig shorter = model;
  shorter.context = 8;
  const Json written = Json::parse(huggingface_config(shorter, DType::f32, {}, both.dump()));
  EXPECT_EQ(written["n_positions"], 8);
  EXPECT_FALSE(written.contains("max_position_embeddings"));
  const Json llama = Json::parse(test::bytes_of_file(test::golden("llama") + "/config.json"));
  Json doubled = llama;
  doubled["rope_scaling"] = llama["rope_parameters"];
  doubled["original_max_position_embeddings"] = 16;
  EXPECT_EQ(model_values(model_from_huggingface(doubled.dump(), "here", {})),
            model_values(model_from_huggingface(llama.dump(), "here", {})));
}

TEST(Config, KeepsKeysThatItDoesNotKnow) {
  ModelConfig model = model_from_huggingface(
      test::bytes_of_file(test::golden("gpt2") + "/config.json"), "here", {});
  const std::string before =
      R"({"model_type": "gpt2", "vocab_size": 61, "n_embd": 24, "n_layer": 2, "n_head": 4, "n_inner": 40, "n_positions": 16,
    "zebra": [1, 2], "torch_dtype": "float32"})";
  EXPECT_EQ(huggingface_config(model, DType::f32, {}, before), before);
  const Json narrow = Json::parse(huggingface_config(model, DType::bf16, {}, before));
  EXPECT_EQ(narrow["torch_dtype"], "bfloat16");
  EXPECT_EQ(narrow["zebra"], Json({1, 2}));
  const Json both = Json::parse(huggingface_config(
      model, DType::bf16, {}, before.substr(0, before.size() - 1) + R"(, "dtype": "float32"})"));
  EXPECT_EQ(both["torch_dtype"], "bfloat16");
  EXPECT_EQ(both["dtype"], "bfloat16");
  // As of a T5 in half precision, of which some matrices stay whole.
  const ConfigExtras mixed{.dtypes = {DType::bf16, DType::f32}};
  EXPECT_EQ(huggingface_config(model, DType::bf16, mixed, before), before);
  const Json half = Json::parse(huggingface_config(model, DType::f16, mixed, narrow.dump()));
  EXPECT_EQ(half["torch_dtype"], "bfloat16");
  model.context = 8;
  const Json changed = Json::parse(huggingface_config(model, DType::f32, {}, before));
  EXPECT_EQ(changed["n_positions"], 8);
  EXPECT_EQ(changed["zebra"], Json({1, 2}));
}

}  // namespace
}  // namespace skein::convert
