#include <gtest/gtest.h>

#include "skein/models/bert/bert.h"

#include "convert/fresh_run.h"

namespace skein::convert {
namespace {

using test::save_fresh;
using test::Scratch;
using test::small_bert;
using test::small_model;

bool is_weights(const std::string& name) {
  return name.starts_with("model") && name.ends_with(".safetensors");
}

class RoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, GivesBackTheFolder) {
  const Scratch scratch;
  test::import_folder(test::golden(GetParam()), scratch.file("run"));
  test::export_folder(scratch.file("run"), scratch.file("back"));
  auto before = test::files_of(test::golden(GetParam())),
       after = test::files_of(scratch.file("back"));
  before.erase("skein_expected.safetensors");
  int weights = 0;
  for (const auto& [name, bytes] : before) {
    ASSERT_TRUE(after.contains(name)) << name;
    EXPECT_TRUE(after.at(name) == bytes) << name;
    weights += is_weights(name);
  }
  EXPECT_GE(weights, GetParam() == "llama" ? 2 : 1);
  EXPECT_EQ(after.size(), before.size());
}

TEST_P(RoundTrip, GivesBackTheCheckpoint) {
  const Scratch scratch;
  test::import_folder(test::golden(GetParam()), scratch.file("run"));
  test::export_folder(scratch.file("run"), scratch.file("back"));
  test::import_folder(scratch.file("back"), scratch.file("again"));
  EXPECT_TRUE(test::tensors_of(scratch.file("run")) == test::tensors_of(scratch.file("again")));
}

INSTANTIATE_TEST_SUITE_P(Golden, RoundTrip, testing::ValuesIn(test::golden_names()),
                         [](const auto& info) { return info.param; });

ModelConfig small_llama() {
  ModelConfig c = small_model();
  c.positions = Positions::rotary;
  c.norm = ops::Norm::rms;
  c.activation = MlpKind::swiglu;
  c.n_kv_heads = 2;
  c.d_head = 6;
  c.bias = false;
  c.tie_embeddings = false;
  c.rope_scaling = RopeScaling::llama3;
  c.rope_factor = 8;
  c.rope_context = 4;
  return c;
}

// Mistral, Qwen2 with a window in some layers, Qwen3, OPT, GPT-NeoX with parallel blocks, and
// Gemma.
std::vector<ModelConfig> newer_models() {
  ModelConfig mistral = small_llama();
  mistral.attention = windowed(5);
  ModelConfig qwen2 = mistral, qwen3 = small_llama();
  qwen2.attention.kinds = {"full", "window"};
  qwen2.attention_bias = true;
  qwen2.attention_out_bias = false;
  qwen3.qk_norm = true;
  qwen3.rope_scaling = RopeScaling::yarn, qwen3.rope_high_frequency = 32;
  qwen3.rope_amplitude = 1.0 / 3;
  ModelConfig opt = small_model(), neox = small_model();
  opt.position_offset = 2;
  opt.norm_epsilon = 1e-5;
  opt.activation = MlpKind::relu;
  neox.positions = Positions::rotary;
  neox.d_model = 28;
  neox.n_heads = 2;  // of 14, of which 6/14 says no text exactly
  neox.rope_width = 6;
  neox.parallel_blocks = true;
  neox.tie_embeddings = false;
  neox.activation = MlpKind::gelu_erf;
  ModelConfig gemma = small_llama();
  gemma.norm = ops::Norm::rms_zero_centered;
  gemma.norm_placement = NormPlacement::sandwich;
  gemma.activation = MlpKind::geglu_tanh;
  gemma.qk_norm = gemma.scale_embeddings = true;
  gemma.score_width = 7;
  gemma.attention = qwen2.attention;
  gemma.rope_window_theta = 77;
  return {mistral, qwen2, qwen3, opt, neox, gemma};
}

std::vector<ModelConfig> small_models() {
  std::vector<ModelConfig> all{small_model(), small_llama(), small_bert(false), small_bert(true)};
  for (const ModelConfig& model :
       {small_model(), small_llama(), small_bert(false), small_bert(true)}) {
    ModelConfig labelled = model;
    labelled.head = Head::sequence;
    labelled.labels = 3;
    bert_options(labelled).pooler = model.architecture == &bert_architecture();
    all.push_back(labelled);
  }
  ModelConfig tokens = small_bert(false), biased = small_llama(), untied = small_model();
  tokens.head = Head::token;
  tokens.labels = 5;
  bert_options(tokens).pooler = false;
  biased.attention_bias = biased.bias = true;
  biased.rope_scaling = RopeScaling::linear;
  biased.rope_context = ModelConfig().rope_context;
  untied.tie_embeddings = false;
  untied.activation = MlpKind::relu;
  ModelConfig masked = small_bert(false), own_decoder = small_bert(true);
  ModelConfig rectified = small_bert(true);
  bert_options(masked).pooler = masked.tie_embeddings = false;
  masked.activation = MlpKind::gelu_tanh;
  own_decoder.tie_embeddings = false;
  rectified.activation = MlpKind::relu;
  bert_options(rectified).head_activation = MlpKind::gelu_erf;
  all.insert(all.end(), {tokens, biased, untied, masked, own_decoder, rectified});
  const auto newer = newer_models();
  all.insert(all.end(), newer.begin(), newer.end());
  return all;
}

TEST(FreshExport, OfAnyLayoutComesBackAsItWas) {
  for (const ModelConfig& model : small_models())
    for (int ranks : {1, 2}) {
      const Scratch scratch;
      save_fresh(scratch.file("run"), model, ranks);
      test::export_folder(scratch.file("run"), scratch.file("out"));
      const std::string path = test::import_folder(scratch.file("out"), scratch.file("back"));
      const auto alone = single_rank();
      EXPECT_EQ(
          model_values(stored_model(
              train::run_state(checkpoint::find_checkpoint(path, *alone)->metadata, path), path)),
          model_values(model));
      EXPECT_TRUE(test::tensors_of(scratch.file("run")) == test::tensors_of(path))
          << huggingface_names(model).prefix;
    }
}

TEST(FreshExport, CutsFilesBySize) {
  const Scratch scratch;
  save_fresh(scratch.file("run"), small_model(), 2);
  ConvertConfig config;
  config.shard_bytes = 1500;
  test::export_folder(scratch.file("run"), scratch.file("out"), config);
  const auto index =
      formats::read_safetensors_index(scratch.file("out") + "/model.safetensors.index.json");
  EXPECT_EQ(index.at("transformer.wte.weight"), "model-00001-of-00005.safetensors");
  EXPECT_EQ(index.at("transformer.ln_f.bias"), "model-00005-of-00005.safetensors");
  for (const auto& [name, bytes] : test::files_of(scratch.file("out")))
    EXPECT_TRUE(!is_weights(name) || bytes.size() < 3000) << name;
  test::import_folder(scratch.file("out"), scratch.file("back"));
  EXPECT_TRUE(test::tensors_of(scratch.file("run")) == test::tensors_of(scratch.file("back")));
}

TEST(ImportedExport, CutsFilesAnewWhenASizeIsGiven) {
  const Scratch scratch;
  test::import_folder(test::golden("llama"), scratch.file("run"));
  ConvertConfig config;
  config.shard_bytes = 1'000'000'000;
  test::export_folder(scratch.file("run"), scratch.file("one"), config);
  EXPECT_TRUE(std::filesystem::exists(scratch.file("one") + "/model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(scratch.file("one") + "/model.safetensors.index.json"));
  config.shard_bytes = 4000;
  test::export_folder(scratch.file("run"), scratch.file("many"), config);
  std::set<std::string> files;
  for (const auto& [tensor, file] :
       formats::read_safetensors_index(scratch.file("many") + "/model.safetensors.index.json"))
    files.insert(file);
  EXPECT_GT(files.size(), 3u);
  for (const char* name : {"one", "many"})
    EXPECT_TRUE(test::tensors_of(scratch.file("run")) ==
                test::tensors_of(test::import_folder(scratch.file(name),
                                                     scratch.file(std::string(name) + "-back"))));
}

TEST(FreshExport, RoundsToTheTypeAskedFor) {
  const Scratch scratch;
  save_fresh(scratch.file("run"), small_model(), 1);
  ConvertConfig config;
  config.dtype = DType::bf16;
  test::export_folder(scratch.file("run"), scratch.file("out"), config);
  const formats::SafetensorsFile file(scratch.file("out") + "/model.safetensors");
  EXPECT_NE(test::bytes_of_file(scratch.file("out") + "/config.json")
                .find("\"torch_dtype\": \"bfloat16\""),
            std::string::npos);
  const Tensor theirs = test::read_tensor(file, "transformer.wte.weight");
  ASSERT_EQ(theirs.dtype(), DType::bf16);
  const auto alone = single_rank();
  checkpoint::CheckpointTensors ours(*checkpoint::find_checkpoint(scratch.file("run"), *alone));
  std::vector<BFloat16> wanted(static_cast<size_t>(theirs.size()));
  ours.read("param/embedding.tokens.weight", 0, theirs.size(), DType::bf16,
            reinterpret_cast<std::byte*>(wanted.data()));
  EXPECT_EQ(std::memcmp(wanted.data(), theirs.bytes_data(), static_cast<size_t>(theirs.bytes())),
            0);
}

TEST(FreshExport, RefusesModelsThatNoOtherProgramKnows) {
  const Scratch scratch;
  ModelConfig model = small_model();
  model.norm = ops::Norm::rms;
  save_fresh(scratch.file("run"), model, 1);
  test::expect_error(ExitCode::usage,
                     {"no family", "gpt2 needs layer norm", "llama needs model.positions=rotary"},
                     [&] { test::export_folder(scratch.file("run"), scratch.file("out")); });
  EXPECT_FALSE(std::filesystem::exists(scratch.file("out")));
}

// transformers' RoBERTa has erf-GELU in its head, whatever its blocks have; its BERT what the
// blocks have.
TEST(FreshExport, RefusesHeadsOfAnotherActivationThanTheFamilys) {
  const auto refused = [](const ModelConfig& model, const char* reason) {
    const Scratch scratch;
    save_fresh(scratch.file("run"), model, 1);
    test::expect_error(ExitCode::usage, {"no family", reason},
                       [&] { test::export_folder(scratch.file("run"), scratch.file("out")); });
    EXPECT_FALSE(std::filesystem::exists(scratch.file("out")));
  };
  ModelConfig roberta = small_bert(true), bert = small_bert(false);
  roberta.activation = MlpKind::gelu_tanh;
  refused(roberta,
          "roberta needs model.head_activation=gelu_erf (the model has gelu_tanh there, as "
          "model.activation says)");
  bert_options(roberta).head_activation = MlpKind::relu;
  refused(roberta, "roberta needs model.head_activation=gelu_erf (the model has relu there)");
  bert_options(bert).head_activation = MlpKind::relu;
  refused(bert, "bert needs model.head_activation=gelu_erf (the model has relu there)");
  // Heads of labels have no such layer.
  const Scratch scratch;
  roberta.head = Head::sequence;
  roberta.labels = 3;
  bert_options(roberta).pooler = true;
  save_fresh(scratch.file("run"), roberta, 1);
  test::export_folder(scratch.file("run"), scratch.file("out"));
}

TEST(FreshExport, WritesTheBiasOfAnOwnDecoderUnderBothNames) {
  for (const bool roberta : {false, true}) {
    const Scratch scratch;
    ModelConfig model = small_bert(roberta);
    model.tie_embeddings = false;
    save_fresh(scratch.file("run"), model, 2);
    test::export_folder(scratch.file("run"), scratch.file("out"));
    const std::string base = roberta ? "lm_head." : "cls.predictions.";
    const formats::SafetensorsFile file(scratch.file("out") + "/model.safetensors");
    const Tensor read = test::read_tensor(file, base + "decoder.bias");
    const Tensor unread = test::read_tensor(file, base + "bias");
    ASSERT_TRUE(read.defined() && unread.defined());
    EXPECT_EQ(read.size(), model.vocab_size);
    const auto size = static_cast<size_t>(read.bytes());
    EXPECT_EQ(std::memcmp(read.bytes_data(), unread.bytes_data(), size), 0);
  }
}

TEST(FreshExport, TouchesNothingThatIsThere) {
  const Scratch scratch;
  save_fresh(scratch.file("run"), small_model(), 1);
  std::filesystem::create_directory(scratch.file("out"));
  test::expect_error(ExitCode::usage, {"out", "exists already"},
                     [&] { test::export_folder(scratch.file("run"), scratch.file("out")); });
  test::expect_error(ExitCode::usage, {"no checkpoint"},
                     [&] { test::export_folder(scratch.file("out"), scratch.file("other")); });
}

TEST(Llmc, ComesBackAsItWas) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Scratch scratch;
    ModelConfig model = small_model();
    model.d_ff = 0;
    model.norm_epsilon = 1e-5;
    save_fresh(scratch.file("run"), model, 2);
    ConvertConfig config;
    config.dtype = dtype;
    test::export_folder(scratch.file("run"), scratch.file("model.bin"), config, Form::llmc);
    const std::string bytes = test::bytes_of_file(scratch.file("model.bin"));
    EXPECT_EQ(static_cast<int64_t>(bytes.size()),
              1024 + (model.parameters() + (128 - 37) * 8) * size_of(dtype));
    const std::string path = test::import_folder(scratch.file("model.bin"), scratch.file("back"));
    EXPECT_EQ(test::tensors_of(scratch.file("run")) == test::tensors_of(path), dtype == DType::f32);
    test::export_folder(path, scratch.file("again.bin"), {}, Form::llmc);
    EXPECT_TRUE(test::bytes_of_file(scratch.file("again.bin")) == bytes);
  }
}

// llm.c reads its tensors one behind the other, without names.
TEST(Llmc, HasTheTensorsOfAllBlocksByKind) {
  ModelConfig model = small_model();
  model.d_ff = 0;
  model.norm_epsilon = 1e-5;
  std::string shapes, parts;
  for (const ForeignTensor& tensor : llmc_names(model, llmc_rows(model.vocab_size)).tensors) {
    shapes += fmt::format("{} {}\n", tensor.name, fmt::join(tensor.shape, ","));
    if (tensor.name == "qkvb")
      for (const OurTensor& part : tensor.parts) parts += part.name + "\n";
  }
  EXPECT_EQ(shapes,
            "wte 128,8\nwpe 8,8\nln1w 2,8\nln1b 2,8\nqkvw 2,24,8\nqkvb 2,24\nattprojw 2,8,8\n"
            "attprojb 2,8\nln2w 2,8\nln2b 2,8\nfcw 2,32,8\nfcb 2,32\nfcprojw 2,8,32\n"
            "fcprojb 2,8\nlnfw 8\nlnfb 8\n");
  EXPECT_EQ(parts,
            "block.0.attention.q.bias\nblock.0.attention.k.bias\nblock.0.attention.v.bias\n"
            "block.1.attention.q.bias\nblock.1.attention.k.bias\nblock.1.attention.v.bias\n");
}

// The folder of scratch's "run", its vectors in f32 and all else in another type.
std::string with_narrow_matrices(const Scratch& scratch, DType dtype) {
  ConvertConfig config;
  config.dtype = dtype;
  test::export_folder(scratch.file("run"), scratch.file("narrow"), config);
  test::export_folder(scratch.file("run"), scratch.file("wide"));
  const formats::SafetensorsFile narrow(scratch.file("narrow") + "/model.safetensors"),
      wide(scratch.file("wide") + "/model.safetensors");
  std::map<std::string, std::pair<const formats::SafetensorsFile*, formats::SafeTensor>> sources;
  std::vector<formats::SafeTensor> tensors;
  for (const formats::SafetensorsFile* file : {&narrow, &wide})
    for (const formats::SafeTensor& tensor : file->tensors())
      if ((tensor.shape.size() > 1) == (file == &narrow)) {
        sources[tensor.name] = {file, tensor};
        tensors.push_back(tensor);
      }
  std::filesystem::create_directory(scratch.file("parts"));
  std::filesystem::copy(scratch.file("wide") + "/config.json", scratch.file("parts"));
  formats::SafetensorsWriter writer(scratch.file("parts") + "/model.safetensors", tensors, {});
  for (const formats::SafeTensor& tensor : writer.tensors()) {
    const auto& [file, source] = sources.at(tensor.name);
    std::vector<std::byte> bytes(static_cast<size_t>(source.bytes()));
    file->read(source, 0, bytes);
    writer.append(bytes);
  }
  writer.finish();
  return scratch.file("parts");
}

// A file of llm.c has one type, and that must not cost values their bits.
TEST(Llmc, OfMixedTypesIsF32) {
  for (const DType most : {DType::bf16, DType::f16}) {
    const Scratch scratch;
    ModelConfig model = small_model();
    model.d_ff = 0;
    model.norm_epsilon = 1e-5;
    save_fresh(scratch.file("run"), model, 1);
    const std::string mixed =
        test::import_folder(with_narrow_matrices(scratch, most), scratch.file("mixed"));
    test::export_folder(mixed, scratch.file("model.bin"), {}, Form::llmc);
    EXPECT_EQ(static_cast<int64_t>(std::filesystem::file_size(scratch.file("model.bin"))),
              1024 + (model.parameters() + (128 - 37) * 8) * 4);
    const auto before = test::tensors_of(mixed),
               after = test::tensors_of(
                   test::import_folder(scratch.file("model.bin"), scratch.file("back")));
    EXPECT_TRUE(after.at("param/final_norm.gain") == before.at("param/final_norm.gain"));
    ConvertConfig narrow;
    narrow.dtype = DType::bf16;
    test::export_folder(mixed, scratch.file("narrow.bin"), narrow, Form::llmc);
    EXPECT_LT(std::filesystem::file_size(scratch.file("narrow.bin")),
              std::filesystem::file_size(scratch.file("model.bin")));
  }
}

TEST(Llmc, IsRefusedWhenItLies) {
  const Scratch scratch;
  ModelConfig model = small_model();
  model.d_ff = 0;
  model.norm_epsilon = 1e-5;
  save_fresh(scratch.file("run"), model, 1);
  test::export_folder(scratch.file("run"), scratch.file("good.bin"), {}, Form::llmc);
  const std::string good = test::bytes_of_file(scratch.file("good.bin"));
  const auto refused = [&](size_t field, int32_t value, const std::string& reason) {
    std::string bytes = good;
    std::memcpy(bytes.data() + 4 * field, &value, 4);
    test::write_file(scratch.file("bad.bin"), bytes);
    test::expect_error(ExitCode::usage, {"bad.bin", reason},
                       [&] { test::import_folder(scratch.file("bad.bin"), scratch.file("out")); });
  };
  refused(1, 4, "version 4");
  refused(2, 0, "context");
  refused(2, -5, "context");
  refused(2, 9, "its header asks for");
  refused(3, 300, "padded vocabulary of 128 for one of 300");
  refused(4, 2'000'000'000, "layers");
  refused(5, 3, "does not divide");
  refused(6, 2'000'000'000, "d_model");
  refused(7, 256, "its header asks for");
  test::write_file(scratch.file("bad.bin"), good.substr(0, 1000));
  test::expect_error(ExitCode::usage, {"has 1000 bytes"},
                     [&] { test::import_folder(scratch.file("bad.bin"), scratch.file("out")); });
  test::write_file(scratch.file("bad.bin"), good + "x");
  test::expect_error(ExitCode::usage, {"its header asks for"},
                     [&] { test::import_folder(scratch.file("bad.bin"), scratch.file("out")); });
  EXPECT_FALSE(std::filesystem::exists(scratch.file("out")));
}

}  // namespace
}  // namespace skein::convert
