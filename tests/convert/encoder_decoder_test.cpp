// T5, BART, mBART and Marian: what makes them other models, which tables are one, and the way back.
#include <gtest/gtest.h>

#include "convert/edited_golden.h"
#include "convert/fresh_run.h"

namespace skein::convert {
namespace {

using Json = nlohmann::json;
using test::edit_config;
using test::edit_tensors;
using test::model_of;
using test::refused;
using test::Scratch;
using test::small_bart;
using test::small_marian;
using test::small_t5;
using test::TensorsByName;

TensorsByName tensors_in(const std::string& folder) {
  TensorsByName all;
  edit_tensors(folder, [&](const TensorsByName& held) { all = held; });
  return all;
}

void expect_same_tensors(const std::string& left, const std::string& right) {
  const TensorsByName one = tensors_in(left), other = tensors_in(right);
  for (const auto& [name, held] : one) {
    ASSERT_TRUE(other.contains(name)) << name;
    EXPECT_TRUE(held.bytes == other.at(name).bytes && held.shape == other.at(name).shape) << name;
  }
  EXPECT_EQ(one.size(), other.size());
}

ModelConfig small_mbart() {
  ModelConfig c = small_bart();
  c.norm_placement = NormPlacement::pre;
  return c;
}

std::vector<ModelConfig> small_mappers() {
  std::vector<ModelConfig> all{small_t5(), small_bart(), small_mbart(), small_marian()};
  for (const MlpKind kind : {MlpKind::gelu_tanh, MlpKind::gelu_erf, MlpKind::silu, MlpKind::swiglu,
                             MlpKind::geglu_tanh, MlpKind::geglu_erf, MlpKind::reglu}) {
    ModelConfig gated = small_t5();
    gated.activation = kind;
    all.push_back(gated);
  }
  ModelConfig own_head = small_t5(), untied = small_bart(), apart = small_bart(),
              two = small_marian(), own = small_marian();
  own_head.tie_embeddings = untied.tie_embeddings = apart.tie_embeddings = own.tie_embeddings =
      false;
  transformer_options(own_head).scale_output = false;
  transformer_options(own_head).distance_max = 40;
  transformer_options(apart).share_source = transformer_options(two).share_source = false;
  transformer_options(two).source_vocab_size = 29;
  apart.dropout = 0.25;
  apart.attention_dropout = 0.125;
  apart.activation_dropout = 0.5;
  all.insert(all.end(), {own_head, untied, apart, two, own});
  return all;
}

// What its files make of an exported model.
ModelConfig as_imported(ModelConfig model) {
  const bool is_t5 = model.positions == Positions::distance;
  model.activation_dropout = is_t5 ? model.dropout : model.activation_dropout;
  return model;
}

TEST(FreshMappers, OfAnyLayoutComeBackAsTheyWere) {
  for (const ModelConfig& model : small_mappers())
    for (const int ranks : {1, 2}) {
      const Scratch scratch;
      test::save_fresh(scratch.file("run"), model, ranks);
      test::export_folder(scratch.file("run"), scratch.file("out"));
      const std::string path = test::import_folder(scratch.file("out"), scratch.file("back"));
      EXPECT_EQ(model_values(model_of(path)), model_values(as_imported(model)));
      EXPECT_TRUE(test::tensors_of(scratch.file("run")) == test::tensors_of(path))
          << test::bytes_of_file(scratch.file("out") + "/config.json");
      test::export_folder(path, scratch.file("again"));
      EXPECT_EQ(test::files_of(scratch.file("out")), test::files_of(scratch.file("again")));
    }
}

// Files of BART and its like always have one.
TEST(FreshMappers, WithoutABiasOfTheHeadGetZeros) {
  const Scratch scratch;
  ModelConfig model = small_bart();
  transformer_options(model).head_bias = HeadBias::none;
  test::save_fresh(scratch.file("run"), model, 1);
  test::export_folder(scratch.file("run"), scratch.file("out"));
  const test::TensorBytes bias = tensors_in(scratch.file("out")).at("final_logits_bias");
  EXPECT_EQ(bias.shape, (std::vector<int64_t>{1, model.vocab_size}));
  EXPECT_EQ(bias.bytes, std::vector<std::byte>(static_cast<size_t>(model.vocab_size) * 4));
}

TEST(FreshMappers, ThatNoFamilyHasAreRefused) {
  const auto is_refused = [](const ModelConfig& model, std::initializer_list<std::string> words) {
    test::expect_error(ExitCode::usage, words, [&] { huggingface_names(model); });
  };
  ModelConfig model = small_t5();
  transformer_options(model).scale_scores = true;
  is_refused(model, {"t5 needs model.scale_scores=false", "bart needs layer norm"});
  model = small_t5();
  model.bias = true;
  is_refused(model, {"t5 needs model.bias=false"});
  model = small_bart();
  model.position_offset = 0;
  is_refused(model, {"bart needs model.positions=learned with model.position_offset=2",
                     "marian needs model.positions=sinusoidal"});
  model = small_bart();
  transformer_options(model).source_context = 5;
  is_refused(model, {"bart needs model.source_context as model.context"});
  model = small_marian();
  model.sinusoids = kernels::Sinusoid::pairs;
  is_refused(model, {"marian needs model.positions=sinusoidal with model.sinusoids=halves"});
  model = small_bart();
  model.activation = MlpKind::swiglu;
  is_refused(model, {"bart needs model.activation gelu_tanh, gelu_erf, relu or silu"});
}

TEST(ConfigOfMappers, RefusesWhatNoModelHereDoes) {
  struct Case {
    const char *name, *key, *value, *reason;
  };
  const std::vector<Case> cases = {
      {"t5", "feed_forward_proj", "\"gated-mish\"", "each also after \"gated-\""},
      {"t5", "feed_forward_proj", "\"gated-relu\"", "\"is_gated_act\" is false"},
      {"t5", "dense_act_fn", "\"gelu\"", "\"feed_forward_proj\" says \"relu\""},
      {"t5_v1_1", "dense_act_fn", "\"gelu\"", "\"feed_forward_proj\" says \"gated-gelu\""},
      {"t5", "is_decoder", "true", "both halves"},
      {"t5", "is_encoder_decoder", "false", "both halves"},
      {"t5", "num_decoder_layers", "0", "0 of the decoder"},
      {"t5", "num_attention_heads", "4", "\"num_heads\" is 2, but \"num_attention_heads\""},
      {"t5", "head_dim", "4", "\"d_kv\" is 3, but \"head_dim\""},
      {"t5", "architectures", "[\"T5ForSequenceClassification\"]", "head of labels"},
      {"t5", "architectures", "[\"T5EncoderModel\"]", "not known here"},
      {"t5", "architectures", "[\"MT5ForConditionalGeneration\"]", "begin with T5"},
      {"t5", "model_type", "\"umt5\"", "are known"},
      {"bart", "decoder_attention_heads", "4",
       "\"encoder_attention_heads\" is 2 and \"decoder_attention_heads\" is 4"},
      {"bart", "decoder_ffn_dim", "16", "\"encoder_ffn_dim\" is 12 and \"decoder_ffn_dim\" is 16"},
      {"bart", "normalize_before", "true", "computed otherwise"},
      {"bart", "add_final_layer_norm", "true", "computed otherwise"},
      {"bart", "normalize_embedding", "false", "computed otherwise"},
      {"bart", "static_position_embeddings", "true", "computed otherwise"},
      {"bart", "extra_pos_embeddings", "0", "third row"},
      {"bart", "activation_function", "\"swiglu\"", "known are gelu"},
      {"bart", "architectures", "[\"BartForCausalLM\"]", "not known here"},
      {"mbart", "normalize_before", "false", "computed otherwise"},
      {"marian", "static_position_embeddings", "false", "computed otherwise"},
      {"marian", "decoder_vocab_size", "30", "which one table cannot have"},
      {"marian", "d_model", "7", "must be even"}};
  for (const Case& one : cases) {
    const Scratch scratch;
    const std::string folder = test::copy_of(scratch, one.name);
    edit_config(folder, [&](Json& json) { json[one.key] = Json::parse(one.value); });
    refused(folder, {folder + "/config.json", one.reason});
  }
}

// transformers takes an own head where the numbers differ, whatever config.json says.
TEST(HeadOfT5, IsItsOwnWhereItDiffers) {
  for (const bool equal : {true, false}) {
    const Scratch scratch;
    const std::string folder = test::copy_of(scratch, "t5");
    edit_tensors(folder, [&](TensorsByName& all) {
      all["lm_head.weight"] = all.at("shared.weight");
      if (!equal) all["lm_head.weight"].bytes.back() ^= std::byte{1};
    });
    edit_config(folder, [&](Json& json) { json["tie_word_embeddings"] = !equal; });
    const std::string path = test::import_folder(folder, scratch.file("run"));
    EXPECT_EQ(model_of(path).tie_embeddings, equal);
    EXPECT_EQ(test::tensors_of(path).contains("param/head.weight"), !equal);
    test::export_folder(path, scratch.file("back"));
    expect_same_tensors(folder, scratch.file("back"));
    EXPECT_EQ(test::bytes_of_file(folder + "/config.json"),
              test::bytes_of_file(scratch.file("back") + "/config.json"));
  }
}

TEST(ScaleOfT5, IsThatOfTransformers) {
  const auto scaled = [](const std::function<void(Json&)>& edit) {
    Json config = Json::parse(test::bytes_of_file(test::golden("t5") + "/config.json"));
    edit(config);
    return transformer_options(model_from_huggingface(config.dump(), "here", {})).scale_output;
  };
  EXPECT_TRUE(scaled([](Json&) {}));
  EXPECT_FALSE(scaled([](Json& json) { json["scale_decoder_outputs"] = false; }));
  EXPECT_TRUE(scaled([](Json& json) { json["tie_word_embeddings"] = false; }));
  EXPECT_FALSE(scaled([](Json& json) {
    json.erase("scale_decoder_outputs");
    json["tie_word_embeddings"] = false;
  }));
  const Scratch scratch;
  EXPECT_FALSE(
      transformer_options(model_of(test::import_folder(test::golden("mt5"), scratch.file("run"))))
          .scale_output);
}

// Files of older programs hold one table under several names.
TEST(Tables, ThatStandSeveralTimesComeBackAsOften) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases{
      {"t5", {"shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}},
      {"bart",
       {"model.shared.weight", "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight", "lm_head.weight"}},
      {"marian_two", {"model.decoder.embed_tokens.weight", "lm_head.weight"}}};
  for (const auto& [name, names] : cases) {
    const Scratch scratch;
    const std::string folder = test::copy_of(scratch, name);
    edit_tensors(folder, [&](TensorsByName& all) {
      for (const std::string& second : names) all[second] = all.at(names.front());
    });
    const std::string path = test::import_folder(folder, scratch.file("run"));
    EXPECT_EQ(model_values(model_of(path)),
              model_values(model_of(test::import_folder(test::golden(name), scratch.file("as")))));
    test::export_folder(path, scratch.file("back"));
    EXPECT_TRUE(test::bytes_of_file(folder + "/model.safetensors") ==
                test::bytes_of_file(scratch.file("back") + "/model.safetensors"))
        << name;
  }
}

// transformers names the type of the first tensor, keeps some matrices of T5 whole, and counts
// neither the bias of BART's head nor leaves out Marian's tables of waves, which files lack.
TEST(Mappers, KeepTheTypeThatTheirConfigNames) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "t5");
  edit_config(folder, [](Json& json) { json["dtype"] = "float16"; });
  edit_tensors(folder, [](TensorsByName& all) {
    test::TensorBytes& first = all.at("shared.weight");
    first.type = "F16";
    first.bytes.assign(first.bytes.size() / 2, std::byte{});
  });
  test::import_folder(folder, scratch.file("run"));
  test::export_folder(scratch.file("run"), scratch.file("back"));
  for (const char* name : {"/config.json", "/model.safetensors"})
    EXPECT_TRUE(test::bytes_of_file(scratch.file("back") + name) ==
                test::bytes_of_file(folder + name))
        << name;
  ConvertConfig wide;
  wide.dtype = DType::f32;
  test::export_folder(scratch.file("run"), scratch.file("wide"), wide);
  EXPECT_EQ(Json::parse(test::bytes_of_file(scratch.file("wide") + "/config.json"))["dtype"],
            "float32");
}

TEST(Mappers, InSeveralFilesSayHowManyParametersThereAre) {
  for (const std::string name : {"t5", "bart", "mbart", "marian"}) {
    const Scratch scratch;
    const std::string path = test::import_folder(test::golden(name), scratch.file("run"));
    ConvertConfig config;
    config.shard_bytes = 4000;
    test::export_folder(path, scratch.file("out"), config);
    const ModelConfig model = model_of(path);
    const int64_t waves = name == "marian" ? 2 * model.context * model.d_model : 0;
    EXPECT_EQ(
        Json::parse(test::bytes_of_file(
            scratch.file("out") + "/model.safetensors.index.json"))["metadata"]["total_parameters"],
        model.parameters() + waves)
        << name;
  }
}

TEST(Tables, UnderAnotherNameAreFound) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "t5");
  test::rewrite(folder, [](const std::string& name) {
    return name == "shared.weight" ? std::string("decoder.embed_tokens.weight") : name;
  });
  const std::string path = test::import_folder(folder, scratch.file("run"));
  EXPECT_TRUE(test::tensors_of(path) ==
              test::tensors_of(test::import_folder(test::golden("t5"), scratch.file("as"))));
  test::export_folder(path, scratch.file("back"));
  expect_same_tensors(folder, scratch.file("back"));
}

TEST(Tables, ThatDifferAreRefusedWhereAModelHasOne) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "t5");
  edit_tensors(folder, [](TensorsByName& all) {
    all["encoder.embed_tokens.weight"] = all.at("shared.weight");
    all["encoder.embed_tokens.weight"].bytes.front() ^= std::byte{1};
  });
  refused(folder, {"encoder.embed_tokens.weight is said to be tied to shared.weight",
                   "one table for both"});
}

TEST(Mappers, LeaveOutWhatNobodyReads) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases{
      {"t5", {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"}},
      {"marian", {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"}}};
  for (const auto& [name, extra] : cases) {
    const Scratch scratch;
    const std::string folder = test::copy_of(scratch, name);
    test::rewrite(
        folder, [](const std::string& all) { return all; }, extra);
    test::import_folder(folder, scratch.file("run"));
    test::rewrite(folder, [](const std::string& all) { return all; }, {"stray.weight"});
    refused(folder, {"unexpected", "stray.weight"});
  }
}

TEST(Mappers, OfTheBareModelLackTheHead) {
  const Scratch scratch;
  const std::string folder = test::copy_of(scratch, "bart");
  edit_config(folder, [](Json& json) { json["architectures"] = {"BartModel"}; });
  test::rewrite(folder, [](const std::string& name) {
    return name == "final_logits_bias" ? "" : test::replaced(name, "model.", "");
  });
  refused(folder, {"final_logits_bias", "--allow-missing"});
  ConvertConfig config;
  config.allow_missing = true;
  const auto made = test::tensors_of(test::import_folder(folder, scratch.file("run"), config)),
             whole =
                 test::tensors_of(test::import_folder(test::golden("bart"), scratch.file("as")));
  ASSERT_EQ(made.size(), whole.size());
  for (const auto& [name, bytes] : whole)
    EXPECT_EQ(made.at(name) == bytes, name != "param/head.bias") << name;
}

}  // namespace
}  // namespace skein::convert
