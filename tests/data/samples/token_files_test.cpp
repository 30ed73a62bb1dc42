// Token files of Megatron-LM, nanoGPT and llm.c: read, trained on, converted, refused.
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

std::vector<int32_t> joined(bool end_first) {
  std::vector<int32_t> tokens;
  for (const auto& document : golden_documents()) {
    if (end_first) tokens.push_back(kEnd);
    tokens.insert(tokens.end(), document.begin(), document.end());
    if (!end_first) tokens.push_back(kEnd);
  }
  return tokens;
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
    const std::string original = kGolden + name.substr(0, name.find('.')) + suffix,
                      back = scratch.file("back") + suffix;
    ASSERT_EQ(std::filesystem::exists(back), std::filesystem::exists(original)) << suffix;
    if (!std::filesystem::exists(original)) continue;
    EXPECT_EQ(bytes_of_file(back), bytes_of_file(original)) << suffix;
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
  for (const formats::TokenType type : {formats::TokenType::u8, formats::TokenType::i8}) {
    write_file(scratch.file("a.idx"),
               index_header(type, 1, 2) + std::string(reinterpret_cast<const char*>(&length), 4) +
                   std::string(reinterpret_cast<const char*>(rest), sizeof rest));
    write_file(scratch.file("a.bin"), "\x05\x7f\xff");
    const TokenStore store(scratch.file("a"));
    std::vector<int32_t> ids(2);
    store.read(0, ids);
    EXPECT_EQ(ids, (std::vector<int32_t>{5, 127}));
    if (type == formats::TokenType::u8)
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

void write_sentences(const std::string& path, const text::Tokenizer& tokenizer) {
  TokenStoreWriter writer(path, 257, 256, tokenizer.to_json(), true);
  writer.append(ascending(0, 200), 150);
  writer.end_sentence();
  writer.add_document(ascending(50, 7), 7);
  writer.add_document(ascending(3, 100), 1);
  writer.finish();
}

TEST(TokenFiles, EveryFormatGoesToEveryFormatAndBack) {
  const Scratch scratch;
  const auto tokenizer = text::byte_tokenizer();
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
}  // namespace skein::data
