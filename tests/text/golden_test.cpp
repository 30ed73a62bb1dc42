// Vocabularies in use, and ids that the reference library made (tools/make_tokenizer_golden.py) or
// that several implementations agree on.
#include "skein/text/export.h"
#include "skein/text/models/byte_alphabet.h"
#include "skein/text/tokenizer.h"

#include "golden_files.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using test::golden_lines;
using test::golden_text;
using test::Scratch;

void append_character(int point, std::string& text) {
  if (point < 0x80) return text.push_back(static_cast<char>(point));
  text.push_back(static_cast<char>(0xC0 | point >> 6));
  text.push_back(static_cast<char>(0x80 | (point & 0x3F)));
}

// GPT-2's vocab.json follows from merges.txt: the alphabet, the merges, end-of-text.
std::string gpt2_vocabulary(const std::string& merges) {
  Json vocabulary = Json::object();
  int other = 256;
  for (const uint8_t byte : byte_of_id()) {
    std::string character;
    append_character(gpt2_printable(byte) ? byte : other++, character);
    const size_t id = vocabulary.size();
    vocabulary[character] = id;
  }
  std::istringstream lines(merges);
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);) {
    line.erase(line.find(' '), 1);
    const size_t id = vocabulary.size();
    vocabulary[line] = id;
  }
  const size_t id = vocabulary.size();
  vocabulary["<|endoftext|>"] = id;
  return vocabulary.dump();
}

std::unique_ptr<Tokenizer> gpt2() {
  const Scratch scratch;
  const std::string merges = golden_text("gpt2-merges.txt.xz");
  scratch.write("merges.txt", merges);
  return load_tokenizer(scratch.write("vocab.json", gpt2_vocabulary(merges)));
}

std::unique_ptr<Tokenizer> bert() {
  const Scratch scratch;
  scratch.write("vocab.txt", golden_text("bert-base-uncased-vocab.txt.xz"));
  return load_tokenizer(scratch.path());
}

std::unique_ptr<Tokenizer> neox() {
  return tokenizer_from_json(golden_text("neox-20b-tokenizer.json.xz"));
}

// Each line has text, ids with special tokens recognised and around it, and perhaps ids_ordinary
// without.
void expect_golden(const Tokenizer& tokenizer, const std::string& name) {
  const auto lines = golden_lines(name);
  EXPECT_EQ(lines.size(), 60u);
  for (const Json& line : lines) {
    const auto text = line["text"].get<std::string>();
    EXPECT_EQ(Json(tokenizer.with_template(tokenizer.encode_specials(text)).ids), line["ids"])
        << line["text"];
    EXPECT_EQ(Json(tokenizer.encode(text)),
              line.value("ids_ordinary", Json(tokenizer.encode(text))))
        << line["text"];
  }
}

void expect_random(const Tokenizer& tokenizer, const std::string& key) {
  const auto lines = golden_lines("random.jsonl.xz");
  EXPECT_EQ(lines.size(), 2000u);
  for (const Json& line : lines)
    ASSERT_EQ(Json(tokenizer.encode(line["text"].get<std::string>())), line[key]) << line["text"];
}

void expect_comes_back(const Tokenizer& tokenizer) {
  const std::string json = tokenizer.to_json();
  const auto again = tokenizer_from_json(json);
  EXPECT_EQ(again->to_json(), json);
  EXPECT_EQ(again->vocab_size(), tokenizer.vocab_size());
  const std::string text = "It's <|endoftext|>  2,000 naïve 日本 strings\n\n";
  EXPECT_EQ(again->encode_specials(text), tokenizer.encode_specials(text));
}

TEST(Golden, Gpt2) {
  const auto tokenizer = gpt2();
  EXPECT_EQ(tokenizer->vocab_size(), 50257);
  EXPECT_EQ(tokenizer->end_of_text(), 50256);
  EXPECT_EQ(tokenizer->id_of("\xC4\xA0the"), 262);
  EXPECT_EQ(tokenizer->bytes_of(262), " the");
  expect_golden(*tokenizer, "gpt2.jsonl.xz");
  expect_random(*tokenizer, "gpt2");
  expect_comes_back(*tokenizer);
}

TEST(Golden, Bert) {
  const auto tokenizer = bert();
  EXPECT_EQ(tokenizer->vocab_size(), 30522);
  const TokenRoles roles = tokenizer->roles();
  EXPECT_EQ((std::vector{roles.pad, roles.unk, roles.cls, roles.sep, roles.mask}),
            (std::vector{0, 100, 101, 102, 103}));
  expect_golden(*tokenizer, "bert-base-uncased.jsonl.xz");
  expect_random(*tokenizer, "bert");
  expect_comes_back(*tokenizer);
}

TEST(Golden, Neox) {
  const auto tokenizer = neox();
  EXPECT_EQ(tokenizer->vocab_size(), 50277);
  EXPECT_EQ(tokenizer->end_of_text(), 0);
  expect_golden(*tokenizer, "neox-20b.jsonl.xz");
  expect_random(*tokenizer, "neox");
  expect_comes_back(*tokenizer);
}

TEST(Golden, AnyBytesComeBackFromGpt2) {
  const auto tokenizer = gpt2();
  std::string bytes;
  for (uint32_t i = 0; i < 1 << 16; ++i) bytes.push_back(static_cast<char>(i * i * 37 + i / 3));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(bytes)), bytes);
}

// Each line: a tokenizer.json as the reference wrote it, and what the reference made of some
// strings by it.
TEST(Golden, SmallTokenizersOfManySettings) {
  const auto lines = golden_lines("small.jsonl.xz");
  EXPECT_GE(lines.size(), 20u);
  for (const Json& line : lines) {
    const auto tokenizer = tokenizer_from_json(line["tokenizer"].dump());
    SCOPED_TRACE(tokenizer->to_json().substr(0, 1500));
    for (const Json& made : line["strings"]) {
      SCOPED_TRACE(made["text"].dump());
      const auto text = made["text"].get<std::string>();
      const auto ids = tokenizer->encode_specials(text), second = tokenizer->encode_specials("b");
      EXPECT_EQ(Json(tokenizer->encode(text)), made["plain"]);
      EXPECT_EQ(Json(ids), made["special"]);
      EXPECT_EQ(Json(tokenizer->with_template(ids).ids), made["single"]);
      const TemplatedIds pair = tokenizer->with_template(ids, &second);
      EXPECT_EQ(Json(pair.ids), made["pair"]);
      EXPECT_EQ(Json(pair.types), made["types"]);
      EXPECT_EQ(tokenizer->decode(ids), made["decoded"].get<std::string>());
      EXPECT_EQ(tokenizer->decode(ids, false), made["decoded_all"].get<std::string>());
    }
    expect_comes_back(*tokenizer);
  }
}

}  // namespace
}  // namespace skein::text
