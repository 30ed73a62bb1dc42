// What stands beside token files, and what is asked where nothing does.
#include <chrono>
#include <cstring>

#include "skein/data/samples/loader.h"
#include "skein/data/stores/convert.h"
#include "skein/formats/indexed.h"
#include "skein/text/tokenizer.h"

#include "data/data_fixtures.h"
#include "data/golden_token_files.h"

namespace skein::data {
namespace {

using namespace test;

TEST(TokenNotes, StandBesideTheFile) {
  const Scratch scratch;
  const std::string path = copy_of(scratch, "nanogpt.bin", "train.bin");
  write_file(scratch.file("train.meta.json"),
             R"({"vocab_size": 300, "end_of_text": 299, "text_bytes": 268})");
  const TokenStore store(path);
  EXPECT_EQ(store.info().vocab_size, 300);
  EXPECT_EQ(store.info().text_bytes, 268);
  EXPECT_EQ(list(store.documents()), kStarts);
  write_file(scratch.file("train.meta.json"),
             R"({"vocab_size": 300, "end_of_text": 299, "end_of_text_at": "begin"})");
  EXPECT_EQ(list(TokenStore(path).documents()), (std::vector<uint64_t>{0, 5, 7, 48, 66, 67}));
  const auto tokenizer = text::bpe_tokenizer({{0, 1}});
  write_file(scratch.file("tok.json"), tokenizer->to_json());
  write_file(scratch.file("train.meta.json"), R"({"tokenizer": "tok.json"})");
  EXPECT_EQ(TokenStore(path).info().tokenizer.text(), tokenizer->to_json());
  EXPECT_EQ(TokenStore(path).info().end_of_text, 257);
  write_file(scratch.file("train.meta.json"), "{\"tokenizer\": " + tokenizer->to_json() + "}");
  EXPECT_EQ(TokenStore(path).info().tokenizer.text(), tokenizer->to_json());
}

TEST(TokenNotes, FaultsAreNamed) {
  const Scratch scratch;
  const std::string path = copy_of(scratch, "nanogpt.bin", "train.bin");
  const auto refused = [&](const std::string& notes, std::initializer_list<std::string> words) {
    write_file(scratch.file("train.meta.json"), notes);
    expect_error(ExitCode::usage, words, [&] { TokenStore store(path); });
    expect_error(ExitCode::usage, {"train.meta.json"}, [&] { TokenStore store(path); });
  };
  refused("[1]", {"array"});
  refused("{", {"not JSON"});
  refused(R"({"vocab_size": 5, "vocab_size": 7})", {"names vocab_size twice"});
  refused(R"({"vocab": 3})", {"\"vocab\"", "vocab_size"});
  refused(R"({"vocab_size": 0})", {"vocab_size is 0"});
  refused(R"({"vocab_size": 18446744073709551615})", {"18446744073709551615"});
  refused(R"({"vocab_size": "3"})", {"vocab_size is \"3\""});
  refused(R"({"vocab_size": 10, "end_of_text": 10})", {"end_of_text is 10"});
  refused(R"({"tokenizer": "bytes", "vocab_size": 300})", {"300", "257"});
  refused(R"({"tokenizer": {"type": "odd"}})", {"odd"});
  refused(R"({"tokenizer": 4})", {"number"});
  refused(R"({"end_of_text_at": "middle"})", {"begin"});
  write_file(scratch.file("train.meta.json"), R"({"tokenizer": "bytes"})");
  expect_error(ExitCode::usage, {"train.meta.json", "257", "300"}, [&] {
    TokenStore store(path, {.tokenizer = text::StoredTokenizer("{}"),
                            .vocab_size = 300,
                            .end_of_text = -1,
                            .text_bytes = 0,
                            .end_of_text_at = ""});
  });
  expect_error(ExitCode::usage, {"native.h5", "data.tokenizer"},
               [&] { TokenStore store(native_store(scratch), notes_of_tokenizer("bytes")); });
}

TEST(TokenFiles, AnUnknownVocabularyIsAskedFor) {
  const Scratch scratch;
  const std::string path = copy_of(scratch, "nanogpt.bin", "train.bin");
  expect_error(ExitCode::usage, {path, "data.tokenizer", "model.vocab_size", "train.meta.json"},
               [&] { Loader loader({path}, 5, 0, {}); });
  write_file(scratch.file("meta.pkl"), "\x80");
  expect_error(ExitCode::usage, {"pickle", "train.meta.json"},
               [&] { Loader loader({path}, 5, 0, {}); });
  DataConfig config;
  config.vocab_size = 300;
  EXPECT_EQ(Loader({path}, 5, 0, config).vocab_size(), 300);
}

TEST(TokenFiles, IdsOutsideTheVocabularyAreNamedWhenRead) {
  std::vector<int32_t> ids(67);
  for (const char* name : {"megatron_i2", "megatron_i8", "llmc_u32.bin", "nanogpt.bin"}) {
    TokenNotes notes = kNotes;
    notes.vocab_size = 299;
    notes.end_of_text = -1;
    const TokenStore store(kGolden + name, notes);
    expect_error(ExitCode::usage, {name, "is 299", "299 ids"}, [&] { store.read(0, ids); });
    expect_error(ExitCode::usage, {name},
                 [&] { TokenStore verified(kGolden + name, notes, true); });
  }
  const Scratch scratch;
  copy_of(scratch, "megatron_i8.idx", "a.idx");
  std::string tokens = bytes_of_file(kGolden + "megatron_i8.bin");
  for (const int64_t bad : {int64_t{-1}, int64_t{1} << 40}) {
    std::memcpy(tokens.data() + 8 * 20, &bad, sizeof bad);
    write_file(scratch.file("a.bin"), tokens);
    expect_error(ExitCode::usage, {"a", "token 20", std::to_string(bad)},
                 [&] { TokenStore(scratch.file("a")).read(0, ids); });
  }
}

TEST(TokenFiles, LooksCountOnlyWhereNothingNamesTheVocabulary) {
  const Scratch scratch;
  const std::string path = scratch.file("n.bin");
  const auto refused = [&](const std::string& bytes, const char* kind) {
    write_file(path, bytes);
    expect_error(ExitCode::usage, {"n.bin", kind}, [&] { TokenStore store(path); });
    TokenNotes notes;
    notes.vocab_size = 1 << 16;
    EXPECT_EQ(TokenStore(path, notes, true).info().tokens, static_cast<int64_t>(bytes.size() / 2));
  };
  refused("This is a text and no tokens.\n", "text");
  refused("PK\x03\x04 and more.", "zip");
  refused("\x1f\x8b\x08 and more", "gzip");
  write_file(path, "\x1f\x8b\x09 and more");
  EXPECT_EQ(TokenStore(path).info().tokens, 6);
}

TEST(TokenFiles, TheHintNamesTheNotesThatAreRead) {
  const Scratch scratch;
  for (const char* suffix : {"bin", "idx"})
    copy_of(scratch, std::string("megatron_u2.") + suffix, std::string("corpus.v1.") + suffix);
  expect_error(ExitCode::usage, {scratch.file("corpus.v1.meta.json")},
               [&] { TokenStore(scratch.file("corpus.v1")).require_vocabulary(); });
}

TEST(TokenNotes, GiveNativeStoresTheTokenizerTheyLack) {
  const Scratch scratch;
  write_store(scratch.file("a.h5"), 257, 256, {ascending(0, 9)}, "");
  const TokenNotes notes = notes_of_tokenizer("bytes");
  EXPECT_EQ(TokenStore(scratch.file("a.h5"), notes).info().tokenizer.text(),
            text::byte_tokenizer()->to_json());
  EXPECT_TRUE(TokenStore(scratch.file("a.h5")).info().tokenizer.empty());
  write_store(scratch.file("b.h5"), 300, 256, {ascending(0, 9)}, "");
  expect_error(ExitCode::usage, {"b.h5", "300", "257"},
               [&] { TokenStore(scratch.file("b.h5"), notes); });
  write_store(scratch.file("c.h5"), 257, 256, {ascending(0, 9)},
              R"({ "version": 1, "type": "bytes" })");
  EXPECT_EQ(TokenStore(scratch.file("c.h5"), notes).info().vocab_size, 257);
}

TEST(TokenNotes, LargeTokenizersTakeNoAge) {
  constexpr int32_t kPieces = 150'000;
  std::string vocabulary;
  for (int32_t id = 0; id < kPieces; ++id)
    vocabulary += fmt::format("{}\"{:06}\":{}", id > 0 ? "," : "", id, id);
  const auto tokenizer = text::tokenizer_from_json(fmt::format(
      R"({{"pre_tokenizer":{{"type":"BertPreTokenizer"}},"model":{{"type":"WordPiece","unk_token":"000000","vocab":{{{}}}}}}})",
      vocabulary));
  const Scratch scratch;
  write_store(scratch.file("a.h5"), kPieces, -1, {{1, 2, 3}}, tokenizer->to_json());
  const auto begin = std::chrono::steady_clock::now();
  const StoreInfo made =
      convert_tokens(TokenStore(scratch.file("a.h5")), scratch.file("a.bin"), TokenFormat::llmc);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_EQ(made.tokenizer.text(), tokenizer->to_json());
}

}  // namespace
}  // namespace skein::data
