// What the reference libraries made of strings (tools/make_pieces_golden.py).
#include "skein/core/base64.h"
#include "skein/text/sentencepiece/model_file.h"
#include "skein/text/tokenizer.h"

#include "golden_files.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;
using test::golden_lines;
using test::Scratch;

// Text of special tokens is text here, and theirs in the reference.
bool names_specials(const Tokenizer& tokenizer, const std::string& text) {
  for (const auto& [name, id] : tokenizer.special_tokens())
    if (text.find(name) != std::string::npos) return true;
  return false;
}

void expect_stable(const Tokenizer& tokenizer) {
  const auto again = tokenizer_from_json(tokenizer.to_json());
  EXPECT_EQ(again->to_json(), tokenizer.to_json());
  EXPECT_EQ(again->encode("It's  a naïve 日本 test\n"),
            tokenizer.encode("It's  a naïve 日本 test\n"));
}

TEST(PiecesGolden, SentencePieceModels) {
  const auto lines = golden_lines("sentencepiece.jsonl.xz");
  EXPECT_EQ(lines.size(), 12u);
  const Scratch scratch;
  for (const Json& line : lines) {
    SCOPED_TRACE(line["name"]);
    const std::string bytes = *from_base64(line["model"].get<std::string>());
    const auto tokenizer = load_tokenizer(scratch.write("x.model", bytes));
    for (const Json& made : line["strings"]) {
      EXPECT_EQ(Json(tokenizer->encode(made["text"].get<std::string>())), made["ids"])
          << made["text"];
      EXPECT_EQ(tokenizer->decode(made["ids"].get<Ids>()), made["decoded"]) << made["text"];
    }
    for (const Json& drawn : line["drawn"])
      EXPECT_EQ(tokenizer->decode(drawn["ids"].get<Ids>()), drawn["decoded"]) << drawn["ids"];
    expect_stable(*tokenizer);
  }
}

void expect_strings(const Tokenizer& tokenizer, const Json& strings) {
  for (const Json& made : strings) {
    SCOPED_TRACE(made["text"].dump());
    const auto text = made["text"].get<std::string>();
    const Ids ids = tokenizer.encode_specials(text);
    EXPECT_EQ(Json(ids), made["ids"]);
    if (!names_specials(tokenizer, text)) {
      EXPECT_EQ(Json(tokenizer.encode(text)), made["ids"]);
    }
    EXPECT_EQ(Json(tokenizer.with_template(ids).ids), made["single"]);
    EXPECT_EQ(tokenizer.decode(ids), made["decoded"]);
    EXPECT_EQ(tokenizer.decode(ids, false), made["decoded_all"]);
  }
}

TEST(PiecesGolden, TokenizerJsons) {
  const auto lines = golden_lines("pieces.jsonl.xz");
  EXPECT_EQ(lines.size(), 16u);
  for (const Json& line : lines) {
    SCOPED_TRACE(line["name"]);
    const auto tokenizer = tokenizer_from_json(line["tokenizer"].dump());
    expect_strings(*tokenizer, line["strings"]);
    expect_stable(*tokenizer);
    Json read = line["tokenizer"];
    read["truncation"] = read["padding"] = nullptr;
    EXPECT_EQ(Json::parse(tokenizer->to_json()), read);
  }
}

TEST(PiecesGolden, AsTransformersSeesThem) {
  for (const Json& line : golden_lines("transformers.jsonl.xz")) {
    SCOPED_TRACE(line["class"]);
    expect_strings(*tokenizer_from_json(line["tokenizer"].dump()), line["strings"]);
  }
}

// A tokenizer.json of nothing but a table and bytes: text comes back as the table leaves it.
std::unique_ptr<Tokenizer> table_alone(const Json& table) {
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte) vocabulary[fmt::format("<0x{:02X}>", byte)] = byte;
  const Json json = {{"normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", table}}},
                     {"decoder", {{"type", "ByteFallback"}}},
                     {"model",
                      {{"type", "BPE"},
                       {"byte_fallback", true},
                       {"vocab", vocabulary},
                       {"merges", Json::array()}}}};
  return tokenizer_from_json(json.dump());
}

// The same as a model of SentencePiece.
std::unique_ptr<Tokenizer> model_alone(const std::string& table, const Scratch& scratch) {
  SentencePieceModel model;
  model.pieces = {{"<unk>", 0, SentencePieceModel::Type::unknown}};
  for (int byte = 0; byte < 256; ++byte)
    model.pieces.push_back({fmt::format("<0x{:02X}>", byte), 0, SentencePieceModel::Type::byte});
  model.byte_fallback = true;
  model.add_dummy_prefix = model.remove_extra_whitespaces = model.escape_whitespaces = false;
  model.charsmap = table;
  model.unknown = 0;
  return load_tokenizer(scratch.write("table.model", written_sentencepiece(model)));
}

// The two libraries do not agree on what a table means.
TEST(PiecesGolden, TablesOfCharacters) {
  Json table;
  for (const Json& line : golden_lines("pieces.jsonl.xz"))
    if (line["name"] == "metaspace always True")
      table = line["tokenizer"]["normalizer"]["normalizers"][0]["precompiled_charsmap"];
  const Scratch scratch;
  const auto json = table_alone(table);
  const auto model = model_alone(*from_base64(table.get<std::string>()), scratch);
  const auto lines = golden_lines("charsmap.jsonl.xz");
  EXPECT_GE(lines.size(), 400u);
  int64_t differ = 0;
  for (const Json& line : lines) {
    const auto text = line["text"].get<std::string>();
    EXPECT_EQ(json->decode(json->encode(text)), line["tokenizers"]) << line["text"];
    EXPECT_EQ(model->decode(model->encode(text)), line["sentencepiece"]) << line["text"];
    differ += line["tokenizers"] != line["sentencepiece"] ? 1 : 0;
  }
  EXPECT_GE(differ, 5);
}

}  // namespace
}  // namespace skein::text
