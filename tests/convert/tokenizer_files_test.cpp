#include "skein/convert/tokenizer_files.h"

#include <gtest/gtest.h>

#include "skein/core/json.h"
#include "skein/text/tokenizer.h"

#include "convert/golden_folder.h"

namespace skein::convert {
namespace {

TEST(TokenizerFiles, OfOurOwnGiveTheSameIds) {
  // "he", "the", " the", and a merge of bytes that are no text alone.
  const auto ids = [](char c) { return text::byte_tokenizer()->encode(std::string(1, c)).front(); };
  const auto own = text::bpe_tokenizer(
      {{ids('h'), ids('e')}, {ids('t'), 256}, {ids(' '), 257}, {ids('\xc3'), ids('\xa9')}});
  const auto files = tokenizer_files(text::StoredTokenizer(own->to_json()), false);
  ASSERT_EQ(files.size(), 2u);
  const auto theirs = text::tokenizer_from_json(files.at("tokenizer.json"));
  EXPECT_EQ(theirs->vocab_size(), own->vocab_size());
  EXPECT_EQ(theirs->end_of_text(), own->end_of_text());
  for (const std::string text : {"the other  the caf\xc3\xa9's\n\tthe 12", "", " ", "\xff\xfe the"})
    EXPECT_EQ(theirs->encode(text), own->encode(text)) << text;
  EXPECT_EQ(tokenizer_files(text::StoredTokenizer(theirs->to_json()), false).at("tokenizer.json"),
            theirs->to_json());
}

TEST(TokenizerFiles, SayWhatTheModelIsGiven) {
  const auto theirs = text::tokenizer_from_json(
      tokenizer_files(text::StoredTokenizer(text::byte_tokenizer()), false).at("tokenizer.json"));
  for (const text::StoredTokenizer& tokenizer :
       {text::StoredTokenizer(text::byte_tokenizer()), text::StoredTokenizer(theirs->to_json())})
    for (const bool types : {false, true}) {
      const auto config =
          nlohmann::json::parse(tokenizer_files(tokenizer, types).at("tokenizer_config.json"));
      const auto wanted =
          types ? std::vector<std::string>{"input_ids", "token_type_ids", "attention_mask"}
                : std::vector<std::string>{"input_ids", "attention_mask"};
      EXPECT_EQ(config.at("model_input_names"), nlohmann::json(wanted));
    }
}

TEST(TokenizerFiles, NameTheSpecialTokens) {
  const auto decoder = [](const text::StoredTokenizer& tokenizer) {
    return nlohmann::json::parse(tokenizer_files(tokenizer, false).at("tokenizer_config.json"))
        .at("added_tokens_decoder");
  };
  const auto bytes = decoder(text::StoredTokenizer(text::byte_tokenizer()));
  EXPECT_EQ(bytes.size(), 1u);
  EXPECT_EQ(bytes.at("256").at("content"), "<|endoftext|>");
  EXPECT_EQ(bytes.at("256").at("special"), true);
  const auto theirs = text::tokenizer_from_json(
      tokenizer_files(text::StoredTokenizer(text::byte_tokenizer()), false).at("tokenizer.json"));
  EXPECT_EQ(decoder(text::StoredTokenizer(theirs->to_json())), bytes);
}

TEST(TokenizerFiles, OfBytesAreAnAlphabet) {
  const auto theirs = text::tokenizer_from_json(
      tokenizer_files(text::StoredTokenizer(text::byte_tokenizer()), false).at("tokenizer.json"));
  std::string all;
  for (int byte = 1; byte < 128; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(theirs->encode(all), text::byte_tokenizer()->encode(all));
}

TEST(TokenizerFiles, AreNoneWithoutATokenizer) {
  EXPECT_TRUE(tokenizer_files({}, false).empty());
  test::expect_error(ExitCode::usage, {"cannot be written"},
                     [] { tokenizer_files(text::StoredTokenizer("{"), false); });
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  test::expect_error(ExitCode::usage, {"cannot be written", "nested deeper"}, [&] {
    tokenizer_files(text::StoredTokenizer(R"({"merges": )" + deep + "}"), false);
  });
}

// Ids that transformers gives.
TEST(TokenizerFiles, OfXlmRobertaAreRead) {
  const test::Scratch scratch;
  const auto state =
      test::state_of(test::import_folder(test::golden("xlm_roberta"), scratch.file("run")));
  const std::map<std::string, std::vector<int32_t>> wanted{
      {"ab a bc", {0, 5, 10, 4, 9, 2}},
      {"  c ab\xc3\xa9 d\t a", {0, 4, 8, 5, 11, 4, 3, 10, 2}},
      {"", {0, 2}}};
  for (const auto& [text, ids] : wanted)
    EXPECT_EQ(state.tokenizer->with_template(state.tokenizer->encode(text)).ids, ids) << text;
}

}  // namespace
}  // namespace skein::convert
