// Files of GGUF: values, tokenizers, conversations, and what they cannot hold.
#include <gtest/gtest.h>

#include "skein/text/sentencepiece/model_file.h"
#include "skein/text/split/known_patterns.h"

#include "convert/gguf_export.h"

namespace skein::convert {
namespace {

using Json = nlohmann::json;

TEST(GgufExport, HoldsTheCheckpointsValues) {
  const Scratch scratch;
  test::save_fresh(scratch.file("run"), wide_llama(), 2, state_with(kTokenizer));
  const GgufFile made = exported(scratch.file("run"), scratch.file("model.gguf"));
  EXPECT_EQ(floats_of(made.tensor("blk.1.ffn_down.weight").bytes),
            weights_of(scratch.file("run"), "block.1.mlp.down.weight"));
  // Heads of 16 rows, whose halves stand by turns.
  const auto ours = weights_of(scratch.file("run"), "block.1.attention.k.weight"),
             theirs = floats_of(made.tensor("blk.1.attn_k.weight").bytes);
  ASSERT_EQ(ours.size(), 32u * 64);
  ASSERT_EQ(theirs.size(), ours.size());
  for (size_t row = 0; row < 32; ++row) {
    const size_t from = row / 16 * 16 + row % 16 / 2 + row % 2 * 8;
    EXPECT_TRUE(std::equal(theirs.begin() + row * 64, theirs.begin() + row * 64 + 64,
                           ours.begin() + from * 64))
        << row;
  }
  EXPECT_EQ(made.value("llama.attention.head_count_kv"), 2);
  // The longest wave is divided by 8, the shortest stays.
  const auto factors = floats_of(made.tensor("rope_freqs.weight").bytes);
  ASSERT_EQ(factors.size(), 8u);
  EXPECT_EQ(factors.front(), 1);
  EXPECT_EQ(factors.back(), 8);
}

TEST(GgufExport, RoundsToTheTypeThatIsAskedFor) {
  const Scratch scratch;
  test::save_fresh(scratch.file("run"), wide_llama(), 1, state_with(kTokenizer));
  ConvertConfig config;
  const auto types = [&](const std::string& name) {
    const GgufFile made = exported(scratch.file("run"), scratch.file(name), config);
    return std::vector{
        made.tensor("blk.0.attn_q.weight").type, made.tensor("blk.0.ffn_down.weight").type,
        made.tensor("blk.0.attn_norm.weight").type, made.tensor("blk.0.attn_q.bias").type,
        made.value("general.file_type").dump()};
  };
  using Types = std::vector<std::string>;
  EXPECT_EQ(types("kept.gguf"), (Types{"F32", "F32", "F32", "F32", "0"}));
  config.dtype = DType::f16;
  EXPECT_EQ(types("f16.gguf"), (Types{"F16", "F16", "F32", "F32", "1"}));
  config.dtype = DType::bf16;
  EXPECT_EQ(types("bf16.gguf"), (Types{"BF16", "BF16", "F32", "F32", "32"}));
  config = {DType::f32, true};
  EXPECT_EQ(types("q8.gguf"), (Types{"Q8_0", "F16", "F32", "F32", "7"}))
      << "rows of 40 have no whole blocks";
  std::vector<std::byte> blocks(64 * 64 / 32 * 34);
  formats::write_q8_0(weights_of(scratch.file("run"), "block.0.attention.v.weight"), blocks.data());
  EXPECT_EQ(read_file(scratch.file("q8.gguf")).tensor("blk.0.attn_v.weight").bytes,
            std::string(reinterpret_cast<const char*>(blocks.data()), 32 * 64 / 32 * 34));
}

TEST(GgufExport, NamesTokensAndTheirKinds) {
  const Scratch scratch;
  test::save_fresh(scratch.file("run"), test::small_model(), 1, state_with(kTokenizer));
  const GgufFile made = exported(scratch.file("run"), scratch.file("model.gguf"));
  const Json tokens = made.value("tokenizer.ggml.tokens"),
             types = made.value("tokenizer.ggml.token_type");
  ASSERT_EQ(tokens.size(), 37u);
  EXPECT_EQ(tokens[6], "\u0120ab");
  EXPECT_EQ(tokens[10], "[gap10]");
  EXPECT_EQ((std::vector<int>{types[0], types[1], types[8], types[9], types[10]}),
            (std::vector<int>{3, 1, 3, 4, 5}));
  EXPECT_EQ(made.value("tokenizer.ggml.merges"), (Json{"a b", "\u0120 ab"}));
  EXPECT_EQ(made.value("tokenizer.ggml.bos_token_id"), 0) << "llama.cpp would take another";
  EXPECT_EQ(made.value("tokenizer.chat_template"), nullptr);
  EXPECT_EQ(test::bytes_of_file(scratch.file("model.Modelfile")),
            "FROM ./model.gguf\nTEMPLATE \"\"\"{{ .Prompt }}\"\"\"\nPARAMETER num_ctx 8\n");
}

TEST(GgufExport, OfBytesHasNoMerges) {
  const Scratch scratch;
  ModelConfig model = test::small_model();
  model.vocab_size = 257;
  train::RunState state = state_with(kTokenizer);
  state.tokenizer = text::StoredTokenizer(text::byte_tokenizer()->to_json());
  test::save_fresh(scratch.file("run"), model, 1, state);
  const GgufFile made = exported(scratch.file("run"), scratch.file("model.gguf"));
  EXPECT_EQ(made.value("tokenizer.ggml.merges"), Json::array());
  EXPECT_EQ(made.value("tokenizer.ggml.tokens")[' '], "\u0120");
  EXPECT_EQ(made.value("tokenizer.ggml.eos_token_id"), 256);
}

TEST(GgufExport, NamesHowWordsAreFound) {
  const auto name_of = [](const char* pattern, bool whole_words) {
    Json json = Json::parse(kTokenizer);
    const Json split{{"type", "Split"},
                     {"pattern", {{"Regex", pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}};
    json["pre_tokenizer"]["use_regex"] = false;
    json["pre_tokenizer"] = {{"type", "Sequence"},
                             {"pretokenizers", {split, json["pre_tokenizer"]}}};
    json["model"]["ignore_merges"] = whole_words;
    const Scratch scratch;
    test::save_fresh(scratch.file("run"), test::small_model(), 1, state_with(json.dump()));
    return exported(scratch.file("run"), scratch.file("model.gguf")).value("tokenizer.ggml.pre");
  };
  EXPECT_EQ(name_of(text::kGpt2Pattern, false), "gpt-2");
  EXPECT_EQ(name_of(text::kLlama3Pattern, true), "llama-bpe");
  EXPECT_EQ(name_of(text::kLlama3Pattern, false), "smaug-bpe");
  EXPECT_EQ(name_of(text::kQwen2Pattern, false), "qwen2");
  EXPECT_EQ(name_of(text::kO200kPattern, false), "gpt-4o");
  test::expect_error(ExitCode::usage, {"its pre_tokenizer is", "x+"},
                     [&] { name_of("x+", false); });
}

TEST(GgufExport, HandsConversationsOver) {
  const Scratch scratch;
  test::save_fresh(
      scratch.file("run"), test::small_model(), 1,
      state_with(kTokenizer,
                 R"({"task": "sft", "template": {"trim": true, "user": {"open": "<|im_start|>"},
                   "assistant": {"open": "a", "close": "<|im_end|>"}, "end": "<|im_end|>"}})"));
  const GgufFile made = exported(scratch.file("run"), scratch.file("model.gguf"));
  EXPECT_EQ(made.value("tokenizer.ggml.eot_token_id"), 8);
  EXPECT_EQ(made.value("tokenizer.ggml.add_bos_token"), false);
  const std::string jinja = made.value("tokenizer.chat_template");
  EXPECT_NE(jinja.find("{{ '<|im_start|>' }}{{ text }}"), std::string::npos) << jinja;
  const std::string beside = test::bytes_of_file(scratch.file("model.Modelfile"));
  EXPECT_NE(beside.find("TEMPLATE \"\"\"{{ $before := \"\" }}"), std::string::npos) << beside;
  EXPECT_NE(beside.find("\nPARAMETER stop \"<|im_end|>\"\n"), std::string::npos);
  EXPECT_NE(beside.find("\n# White space"), std::string::npos);
}

TEST(GgufExport, TakesSentencePiecesTokens) {
  text::SentencePieceModel pieces;
  using Type = text::SentencePieceModel::Type;
  pieces.pieces = {{"<unk>", 0, Type::unknown},
                   {"<s>", 0, Type::control},
                   {"</s>", 0, Type::control},
                   {"\u2581a", -1.5F, Type::normal}};
  pieces.unknown = 0;
  pieces.begin = 1;
  pieces.end = 2;
  const Scratch scratch;
  ModelConfig model = test::small_model();
  model.vocab_size = 270;
  const auto save = [&](const std::string& name) {
    test::write_file(scratch.file(name + ".model"), written_sentencepiece(pieces));
    train::RunState state = state_with(kTokenizer);
    state.tokenizer = text::StoredTokenizer(std::shared_ptr<const text::Tokenizer>(
        text::load_tokenizer(scratch.file(name + ".model"))));
    test::save_fresh(scratch.file(name), model, 1, state);
    return scratch.file(name);
  };
  const GgufFile made = exported(save("unigram"), scratch.file("unigram.gguf"));
  EXPECT_EQ(made.value("tokenizer.ggml.model"), "t5");
  EXPECT_EQ(made.value("tokenizer.ggml.tokens")[3], "\u2581a");
  EXPECT_EQ(made.value("tokenizer.ggml.scores").size(), 270u);
  EXPECT_EQ(made.value("tokenizer.ggml.scores")[3], std::bit_cast<uint32_t>(-1.5F));
  EXPECT_EQ(made.value("tokenizer.ggml.add_space_prefix"), true);
  EXPECT_EQ(made.value("tokenizer.ggml.unknown_token_id"), 0);
  EXPECT_EQ(made.value("tokenizer.ggml.add_bos_token"), false) << "texts here began with no token";
  pieces.byte_fallback = true;
  for (int byte = 0; byte < 256; ++byte)
    pieces.pieces.push_back({fmt::format("<0x{:02X}>", byte), 0, Type::byte});
  const std::string bytes = save("bytes");
  test::expect_error(ExitCode::usage, {"Unigram", "byte_fallback"},
                     [&] { exported(bytes, scratch.file("no.gguf")); });
  pieces.kind = text::SentencePieceModel::Kind::bpe;
  pieces.remove_extra_whitespaces = false;
  const GgufFile merged = exported(save("merged"), scratch.file("merged.gguf"));
  EXPECT_EQ(merged.value("tokenizer.ggml.model"), "llama");
  EXPECT_EQ(merged.value("tokenizer.ggml.token_type")[4], 6);
  pieces.pieces.resize(4);
  pieces.byte_fallback = false;
  const std::string bpe = save("bpe");
  test::expect_error(ExitCode::usage, {"SentencePiece's BPE", "byte_fallback"},
                     [&] { exported(bpe, scratch.file("no.gguf")); });
}

TEST(GgufExport, RefusesTokenizersThatDivideOtherwise) {
  const ModelConfig model = test::small_model();
  const auto refused = [&](const std::function<void(Json&)>& edit,
                           std::initializer_list<std::string> words) {
    Json json = Json::parse(kTokenizer);
    edit(json);
    expect_refused(model, state_with(json.dump()), words);
  };
  expect_refused(model, {}, {"holds its tokenizer", "--tokenizer"});
  refused([](Json& json) { json["pre_tokenizer"]["add_prefix_space"] = true; },
          {"add_prefix_space"});
  refused([](Json& json) { json["pre_tokenizer"]["use_regex"] = false; },
          {"its pre_tokenizer is", "\"use_regex\":false", "GPT-2, Llama 3"});
  refused([](Json& json) { json["model"]["ignore_merges"] = true; }, {"\"ignore_merges\": true"});
  refused(
      [](Json& json) {
        json["normalizer"] = {{"type", "Lowercase"}};
      },
      {"its normalizer is", "Lowercase"});
  refused(
      [](Json& json) {
        json["added_tokens"][0]["content"] = "<none>";
        json["model"]["vocab"].erase("<|endoftext|>");
        json["model"]["vocab"]["<none>"] = 0;
      },
      {"no token that ends texts"});
  refused(
      [](Json& json) {
        json["model"] = {
            {"type", "WordLevel"}, {"vocab", json["model"]["vocab"]}, {"unk_token", "a"}};
        json["pre_tokenizer"] = {{"type", "Whitespace"}};
        json["decoder"] = nullptr;
      },
      {"byte-level BPE and SentencePiece", "its model is WordLevel"});
  ModelConfig few = model;
  few.vocab_size = 9;
  expect_refused(few, state_with(kTokenizer), {"has 10 ids, but the model knows 9"});
}

TEST(GgufExport, WritesNothingOver) {
  const Scratch scratch;
  test::save_fresh(scratch.file("run"), test::small_model(), 1, state_with(kTokenizer));
  test::write_file(scratch.file("there.gguf"), "x");
  test::expect_error(ExitCode::usage, {"there.gguf exists already", "name a file"},
                     [&] { exported(scratch.file("run"), scratch.file("there.gguf")); });
  test::write_file(scratch.file("model.Modelfile"), "x");
  test::expect_error(ExitCode::usage, {"model.Modelfile exists already", "model.gguf"},
                     [&] { exported(scratch.file("run"), scratch.file("model.gguf")); });
  EXPECT_FALSE(std::filesystem::exists(scratch.file("model.gguf")));
  test::expect_error(ExitCode::usage, {"other.Modelfile is what", "other.gguf"},
                     [&] { exported(scratch.file("run"), scratch.file("other.Modelfile")); });
}

}  // namespace
}  // namespace skein::convert
