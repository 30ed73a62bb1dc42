// Token files of Megatron-LM, nanoGPT and llm.c: read, trained on, converted, refused.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "skein/data/samples/loader.h"
#include "skein/data/stores/convert.h"
#include "skein/formats/indexed.h"
#include "skein/text/tokenizer.h"

#include "data_fixtures.h"

namespace skein {
namespace {

using namespace test;

constexpr int32_t kEnd = 299;
const TokenNotes kNotes{
    .tokenizer = {}, .vocab_size = 300, .end_of_text = kEnd, .text_bytes = 0, .end_of_text_at = ""};
const std::string kGolden = "data/golden/";

// The documents of tools/make_token_files.py.
Documents golden_documents() {
  Documents documents;
  int32_t i = 0;
  for (const int length : {5, 1, 40, 17}) {
    documents.emplace_back();
    for (int k = 0; k < length; ++k, ++i) documents.back().push_back((7919 * i + 13) % kEnd);
  }
  return documents;
}

std::vector<int32_t> joined(bool end_first) {
  std::vector<int32_t> tokens;
  for (const auto& document : golden_documents()) {
    if (end_first) tokens.push_back(kEnd);
    tokens.insert(tokens.end(), document.begin(), document.end());
    if (!end_first) tokens.push_back(kEnd);
  }
  return tokens;
}

std::vector<uint64_t> list(std::span<const uint64_t> starts) {
  return {starts.begin(), starts.end()};
}
const std::vector<uint64_t> kStarts{0, 6, 8, 49, 67};

// The golden tokens as a native store.
std::string native_store(const Scratch& scratch) {
  write_store(scratch.file("native.h5"), 300, kEnd, golden_documents(), "");
  return scratch.file("native.h5");
}

class GoldenFiles : public testing::TestWithParam<const char*> {};

TEST_P(GoldenFiles, AreRead) {
  const std::string name = GetParam();
  const bool llmc = name.starts_with("llmc");
  const TokenStore store(kGolden + name, kNotes, true);
  EXPECT_EQ(all_tokens(store), joined(llmc));
  EXPECT_EQ(list(store.documents()), kStarts);
  EXPECT_EQ(store.document_at(5), 0);
  EXPECT_EQ(store.document_at(6), 1);
  EXPECT_EQ(store.info().tokens, 67);
  EXPECT_EQ(store.info().vocab_size, 300);
  EXPECT_EQ(store.info().text_bytes, 0);
}

TEST_P(GoldenFiles, ComeBackByteForByteThroughANativeStore) {
  const std::string name = GetParam();
  const Scratch scratch;
  const TokenStore source(kGolden + name, kNotes);
  convert_tokens(source, scratch.file("native.h5"), TokenFormat::native);
  const TokenStore native(scratch.file("native.h5"), true);
  EXPECT_EQ(all_tokens(native), all_tokens(source));
  EXPECT_EQ(list(native.documents()), kStarts);
  EXPECT_EQ(list(native.sentences()), list(source.sentences()));
  if (name.find("_i") != std::string::npos || name.find("sentences") != std::string::npos ||
      name.find("u32") != std::string::npos)
    return;  // Skein chooses u16 for 300 ids
  convert_tokens(native, scratch.file("back.bin"), source.info().format);
  for (const char* suffix : {".bin", ".idx"}) {
    const std::string original = kGolden + name.substr(0, name.find('.')) + suffix;
    EXPECT_EQ(bytes_of_file(scratch.file("back") + suffix), bytes_of_file(original)) << suffix;
  }
  EXPECT_EQ(list(TokenStore(scratch.file("back.bin")).documents()), kStarts);
}

INSTANTIATE_TEST_SUITE_P(TokenFiles, GoldenFiles,
                         testing::Values("megatron_i2", "megatron_i4.idx", "megatron_i8.bin",
                                         "megatron_u2", "megatron_sentences", "nanogpt.bin",
                                         "llmc_u16.bin", "llmc_u32.bin"));

TEST(TokenFiles, SequencesAreSentencesWhereDocumentsHaveSeveral) {
  const TokenStore store(kGolden + "megatron_sentences", kNotes);
  EXPECT_EQ(list(store.sentences()), (std::vector<uint64_t>{0, 3, 6, 8, 11, 49, 52, 67}));
  EXPECT_EQ(store.info().sentences, 7);
  EXPECT_EQ(store.info().documents, 4);
  EXPECT_TRUE(TokenStore(kGolden + "megatron_i4", kNotes).sentences().empty());
}

TEST(TokenFiles, TokensMayBeBytes) {
  const Scratch scratch;
  const int32_t length = 3;
  const int64_t rest[] = {0, 0, 1};  // offset, documents
  for (const TokenType type : {TokenType::u8, TokenType::i8}) {
    write_file(scratch.file("a.idx"),
               index_header(type, 1, 2) + std::string(reinterpret_cast<const char*>(&length), 4) +
                   std::string(reinterpret_cast<const char*>(rest), sizeof rest));
    write_file(scratch.file("a.bin"), "\x05\x7f\xff");
    const TokenStore store(scratch.file("a"));
    std::vector<int32_t> ids(2);
    store.read(0, ids);
    EXPECT_EQ(ids, (std::vector<int32_t>{5, 127}));
    if (type == TokenType::u8)
      EXPECT_EQ(all_tokens(store).back(), 255);
    else
      expect_error(ExitCode::usage, {"token 2", "is -1"}, [&] { all_tokens(store); });
  }
}

// 3 MB of bare tokens, one of which is another.
uint64_t fingerprint_with(const Scratch& scratch, size_t index, uint16_t token) {
  std::vector<uint16_t> tokens(1'500'000);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint16_t>(i * 7919 % kEnd);
  tokens[index] = token;
  write_file(scratch.file("bare.bin"), std::string(reinterpret_cast<const char*>(tokens.data()),
                                                   tokens.size() * sizeof(uint16_t)));
  return TokenStore(scratch.file("bare.bin"), kNotes).fingerprint();
}

TEST(TokenFiles, HaveAFingerprintOfTheirTokens) {
  const Scratch scratch;
  const uint64_t before = fingerprint_with(scratch, 0, 0);
  EXPECT_EQ(fingerprint_with(scratch, 0, 0), before);
  EXPECT_NE(fingerprint_with(scratch, 0, 1), before);
  EXPECT_NE(fingerprint_with(scratch, 1'499'999, 298), before);
  write_store(scratch.file("a.h5"), 300, kEnd, golden_documents(), "");
  Documents other = golden_documents();
  other[2][20] ^= 1;
  write_store(scratch.file("b.h5"), 300, kEnd, other, "");
  EXPECT_NE(TokenStore(scratch.file("a.h5")).fingerprint(),
            TokenStore(scratch.file("b.h5")).fingerprint());
  write_store(scratch.file("b.h5"), 300, kEnd, golden_documents(), "");
  EXPECT_EQ(TokenStore(scratch.file("a.h5")).fingerprint(),
            TokenStore(scratch.file("b.h5")).fingerprint());
}

TEST(TokenFiles, WithoutAnEndOfTextBareTokensAreOneDocument) {
  EXPECT_EQ(list(TokenStore(kGolden + "nanogpt.bin").documents()), (std::vector<uint64_t>{0, 67}));
  EXPECT_EQ(TokenStore(kGolden + "nanogpt.bin").info().vocab_size, 0);
}

void write_sentences(const std::string& path, const Tokenizer& tokenizer) {
  TokenStoreWriter writer(path, 257, 256, tokenizer.to_json(), true);
  writer.append(ascending(0, 200), 150);
  writer.end_sentence();
  writer.add_document(ascending(50, 7), 7);
  writer.add_document(ascending(3, 100), 1);
  writer.finish();
}

TEST(TokenFiles, EveryFormatGoesToEveryFormatAndBack) {
  const Scratch scratch;
  const auto tokenizer = byte_tokenizer();
  write_sentences(scratch.file("a.h5"), *tokenizer);
  const TokenStore source(scratch.file("a.h5"));
  for (const auto format :
       {TokenFormat::native, TokenFormat::megatron, TokenFormat::nanogpt, TokenFormat::llmc}) {
    const std::string name = scratch.file(format == TokenFormat::native ? "b.h5" : "b.bin");
    const StoreInfo made = convert_tokens(source, name, format);
    EXPECT_EQ(static_cast<int>(made.format), static_cast<int>(format));
    EXPECT_EQ(made.tokenizer.text(), tokenizer->to_json());
    EXPECT_EQ(made.text_bytes, 158);
    const TokenStore foreign(name, true);
    EXPECT_EQ(list(foreign.documents()), list(source.documents()));
    convert_tokens(foreign, scratch.file("c.h5"), TokenFormat::native);
    const bool keeps_sentences = format == TokenFormat::native || format == TokenFormat::megatron;
    EXPECT_EQ(bytes_of_file(scratch.file("c.h5")) == bytes_of_file(scratch.file("a.h5")),
              keeps_sentences);
    EXPECT_EQ(all_tokens(TokenStore(scratch.file("c.h5"), true)), all_tokens(source));
    for (const char* left : {"b.h5", "b.bin", "b.idx", "b.meta.json", "c.h5"})
      std::filesystem::remove(scratch.file(left));
  }
  EXPECT_EQ(scratch.entries(), 1);
}

TEST(TokenFiles, IdsThatDoNotFitAreNamed) {
  const Scratch scratch;
  write_store(scratch.file("a.h5"), 100000, -1, {{1, 65535, 7}, {8, 65536}});
  const TokenStore source(scratch.file("a.h5"));
  expect_error(ExitCode::usage, {"a.h5", "token 4", "65536", "65535"},
               [&] { convert_tokens(source, scratch.file("b.bin"), TokenFormat::nanogpt); });
  EXPECT_EQ(scratch.entries(), 1);
  convert_tokens(source, scratch.file("b.bin"), TokenFormat::llmc);
  EXPECT_EQ(all_tokens(TokenStore(scratch.file("b.bin"))), all_tokens(source));
  convert_tokens(source, scratch.file("m"), TokenFormat::megatron);
  EXPECT_EQ(all_tokens(TokenStore(scratch.file("m.idx"))), all_tokens(source));
}

TEST(TokenFiles, OutputsThatCouldNotBeReadBackAreRefused) {
  const Scratch scratch;
  const TokenStore source(kGolden + "megatron_u2", kNotes), bare(kGolden + "nanogpt.bin");
  expect_error(ExitCode::usage, {"x.h5", ".bin"},
               [&] { convert_tokens(source, scratch.file("x.h5"), TokenFormat::llmc); });
  write_file(scratch.file("x.idx"), "");
  expect_error(ExitCode::usage, {"x.idx"},
               [&] { convert_tokens(source, scratch.file("x.bin"), TokenFormat::nanogpt); });
  expect_error(ExitCode::usage, {"nanogpt.bin", "data.tokenizer"},
               [&] { convert_tokens(bare, scratch.file("x.h5"), TokenFormat::native); });
  EXPECT_EQ(scratch.entries(), 1);
}

std::string copy_of(const Scratch& scratch, const std::string& name, const std::string& as) {
  std::filesystem::copy_file(kGolden + name, scratch.file(as),
                             std::filesystem::copy_options::overwrite_existing);
  return scratch.file(as);
}

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
  const auto tokenizer = bpe_tokenizer({{0, 1}});
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
    TokenStore store(path, {.tokenizer = StoredTokenizer("{}"),
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

TEST(TokenFiles, DamageIsRefused) {
  const Scratch scratch;
  const auto refused = [&](const std::string& name, std::initializer_list<std::string> words) {
    expect_error(ExitCode::usage, words, [&] { TokenStore store(scratch.file(name), kNotes); });
  };
  copy_of(scratch, "megatron_u2.idx", "a.idx");
  refused("a.idx", {"a.bin", "No such file"});
  write_file(scratch.file("a.bin"), "");
  refused("a", {"a.bin", "empty"});
  write_file(scratch.file("a.bin"), bytes_of_file(kGolden + "megatron_u2.bin").substr(0, 130));
  refused("a.bin", {"a.bin", "130", "134"});
  write_file(scratch.file("a.idx"), bytes_of_file(kGolden + "megatron_u2.idx").substr(0, 100));
  refused("a.bin", {"a.idx", "100"});
  write_file(scratch.file("n.bin"), std::string(7, '\1'));
  refused("n.bin", {"n.bin", "7 bytes"});
  write_file(scratch.file("n.bin"), bytes_of_file(kGolden + "llmc_u32.bin").substr(0, 1200));
  refused("n.bin", {"n.bin", "1200", "1292"});
  refused("m.bin", {"m.bin", "No such file"});
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
            byte_tokenizer()->to_json());
  EXPECT_TRUE(TokenStore(scratch.file("a.h5")).info().tokenizer.empty());
  write_store(scratch.file("b.h5"), 300, 256, {ascending(0, 9)}, "");
  expect_error(ExitCode::usage, {"b.h5", "300", "257"},
               [&] { TokenStore(scratch.file("b.h5"), notes); });
  write_store(scratch.file("c.h5"), 257, 256, {ascending(0, 9)},
              R"({ "version": 1, "type": "bytes" })");
  EXPECT_EQ(TokenStore(scratch.file("c.h5"), notes).info().vocab_size, 257);
}

std::string warnings_of_converting(const TokenStore& source, const std::string& output,
                                   TokenFormat format) {
  testing::internal::CaptureStderr();
  convert_tokens(source, output, format);
  return testing::internal::GetCapturedStderr();
}

TEST(TokenFiles, DocumentsThatTheFormatCannotKeepAreWarnedOf) {
  const Scratch scratch;
  write_store(scratch.file("none.h5"), 300, -1, golden_documents(), "");
  const TokenStore none(scratch.file("none.h5"));
  for (const auto format : {TokenFormat::nanogpt, TokenFormat::llmc}) {
    const std::string said = warnings_of_converting(none, scratch.file("none.bin"), format);
    for (const char* word : {"none.h5 has 4 documents", "none.bin", "read as 1:", "unknown"})
      EXPECT_NE(said.find(word), said.npos) << said;
  }
  write_store(scratch.file("inside.h5"), 300, kEnd, {{1, kEnd, 2}, {3}}, "");
  const TokenStore inside(scratch.file("inside.h5"));
  const std::string said =
      warnings_of_converting(inside, scratch.file("inside.bin"), TokenFormat::nanogpt);
  EXPECT_NE(said.find("2 documents"), said.npos) << said;
  EXPECT_NE(said.find("read as 3:"), said.npos) << said;
  EXPECT_EQ(warnings_of_converting(inside, scratch.file("m"), TokenFormat::megatron), "");
  EXPECT_EQ(warnings_of_converting(TokenStore(native_store(scratch)), scratch.file("good.bin"),
                                   TokenFormat::nanogpt),
            "");
}

TEST(TokenNotes, LargeTokenizersTakeNoAge) {
  constexpr int32_t kPieces = 150'000;
  std::string vocabulary;
  for (int32_t id = 0; id < kPieces; ++id)
    vocabulary += fmt::format("{}\"{:06}\":{}", id > 0 ? "," : "", id, id);
  const auto tokenizer = tokenizer_from_json(fmt::format(
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

void expect_same_batch(const Batch& left, const Batch& right) {
  const auto same = [](const Tensor& a, const Tensor& b) {
    EXPECT_EQ(a.defined(), b.defined());
    if (a.defined()) {
      EXPECT_EQ(std::memcmp(a.bytes_data(), b.bytes_data(), static_cast<size_t>(a.bytes())), 0);
    }
  };
  same(left.tokens, right.tokens);
  same(left.targets, right.targets);
  same(left.weights, right.weights);
  same(left.positions, right.positions);
  same(left.segments, right.segments);
}

TEST(TokenFiles, BatchesAreThoseOfNativeStores) {
  const Scratch scratch;
  const std::string native = native_store(scratch);
  write_store(scratch.file("other.h5"), 300, kEnd, {ascending(5, 60)}, "");
  for (const bool crossing : {true, false}) {
    DataConfig config;
    config.cross_document_attention = crossing;
    config.mask_document_ends = !crossing;
    const Batch expected =
        Loader({"0.7:" + native, "0.3:" + scratch.file("other.h5")}, 5, 3, config).batch(0, 40);
    for (const char* name : {"megatron_i4", "megatron_u2.idx", "nanogpt.bin"}) {
      const TokenStore source(kGolden + name, kNotes);
      const std::string copy = scratch.file("copy.bin");
      const StoreInfo made = convert_tokens(source, copy, source.info().format);
      EXPECT_EQ(made.end_of_text, kEnd);
      expect_same_batch(
          Loader({"0.7:" + copy, "0.3:" + scratch.file("other.h5")}, 5, 3, config).batch(0, 40),
          expected);
      std::filesystem::remove(scratch.file("copy.idx"));
    }
  }
}

}  // namespace
}  // namespace skein
