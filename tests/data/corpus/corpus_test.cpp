#include "skein/data/corpus/corpus.h"

#include <algorithm>
#include <random>

#include "skein/text/split/split.h"

#include "data/archives.h"
#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

Texts read_all(const Texts& inputs, const CorpusOptions& options = {}) {
  CorpusReader reader(inputs, options);
  Texts documents;
  bool open = false;
  for (CorpusPiece piece; reader.next(piece);) {
    EXPECT_FALSE(piece.text.empty());
    if (!open) documents.emplace_back();
    EXPECT_EQ(piece.document, static_cast<int64_t>(documents.size()) - 1);
    documents.back() += piece.text;
    open = piece.continues;
  }
  EXPECT_FALSE(open);
  return documents;
}

Texts read_text(const Scratch& scratch, const std::string& text,
                const CorpusOptions& options = {}) {
  write_file(scratch.file("one.txt"), text);
  return read_all({scratch.file("one.txt")}, options);
}

Texts read_jsonl(const Scratch& scratch, const std::string& text,
                 const CorpusOptions& options = {}) {
  write_file(scratch.file("one.jsonl"), text);
  return read_all({scratch.file("one.jsonl")}, options);
}

std::string random_text(size_t size) {
  std::mt19937 random(23);
  std::string text;
  while (text.size() < size)
    text += random() % 6 == 0 ? (random() % 9 == 0 ? '\n' : ' ')
                              : static_cast<char>('a' + random() % 26);
  return text;
}

TEST(CorpusText, AFileIsADocumentByteForByte) {
  const Scratch scratch;
  EXPECT_EQ(read_text(scratch, "a\r\n\n b"), Texts{"a\r\n\n b"});
  EXPECT_EQ(read_text(scratch, "\xEF\xBB\xBFlast line\n"), Texts{"last line\n"});
  EXPECT_EQ(read_text(scratch, ""), Texts{});
  EXPECT_EQ(read_text(scratch, "\xEF\xBB\xBF"), Texts{});
}

TEST(CorpusText, SeparatorLinesDivide) {
  const Scratch scratch;
  CorpusOptions options;
  options.document_separator = "<end>";
  EXPECT_EQ(read_text(scratch, "<end>\na\n<end>\r\n<end>\nb <end>\nc<end>\n<end>", options),
            (Texts{"a\n", "b <end>\nc<end>\n"}));
}

TEST(CorpusText, RunsOfBlankLinesDivide) {
  const Scratch scratch;
  CorpusOptions options;
  options.blank_lines = 2;
  EXPECT_EQ(read_text(scratch, "\na\n\nb\n\n \n\n\nc\n\n", options), (Texts{"a\n\nb\n", "c\n"}));
  options.blank_lines = 1;
  EXPECT_EQ(read_text(scratch, "a\r\n\r\nb", options), (Texts{"a\r\n", "b"}));
}

TEST(CorpusText, LongDocumentsComeInPiecesWithTheSameWords) {
  const Scratch scratch;
  const std::string text = random_text(200000);
  write_file(scratch.file("long.txt"), text);
  for (const int64_t piece_bytes : {256, 1000, 65536}) {
    CorpusOptions options;
    options.piece_bytes = piece_bytes;
    EXPECT_EQ(read_all({scratch.file("long.txt")}, options), Texts{text});
    Texts words, whole;
    CorpusReader reader({scratch.file("long.txt")}, options);
    const auto note = [&](std::string_view word) { words.emplace_back(word); };
    for (CorpusPiece piece; reader.next(piece);) {
      EXPECT_LE(piece.text.size(), static_cast<size_t>(piece_bytes));
      text::split_gpt2(piece.text, note);
    }
    text::split_gpt2(text, [&](std::string_view word) { whole.emplace_back(word); });
    EXPECT_TRUE(words == whole) << piece_bytes;
  }
}

TEST(CorpusText, ATextWithoutSpacesIsCutBetweenCharacters) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\u4e2d";
  write_file(scratch.file("one.txt"), text);
  CorpusOptions options;
  options.piece_bytes = 100;
  CorpusReader reader({scratch.file("one.txt")}, options);
  int pieces = 0;
  for (CorpusPiece piece; reader.next(piece); ++pieces) EXPECT_EQ(piece.text.size() % 3, 0u);
  EXPECT_GT(pieces, 20);
}

TEST(CorpusText, DividesAtALine) {
  const Scratch scratch;
  CorpusOptions options;
  options.divide_at = 4;
  EXPECT_EQ(read_text(scratch, "aa\nbb\ncc\n\ndd\n\nee\n", options),
            (Texts{"aa\nbb\n", "cc\n\ndd\n\nee\n"}));
  EXPECT_EQ(read_text(scratch, "aaaaaaaaaaaaaa", options), Texts{"aaaaaaaaaaaaaa"});
  std::string lines;
  for (int i = 0; i < 20000; ++i) lines += "line\n";
  const Texts parts = read_text(scratch, lines, options);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0] + parts[1], lines);
  EXPECT_EQ(parts[0], "line\n");
}

TEST(CorpusJsonl, TakesTheField) {
  const Scratch scratch;
  EXPECT_EQ(
      read_jsonl(scratch,
                 "\xEF\xBB\xBF{\"text\":\"a\\n\\u00e9\"}\r\n\n  \r\n{\"id\":1,\"text\":\"b\"}"),
      (Texts{"a\n\u00e9", "b"}));
  CorpusOptions options;
  options.field = "body";
  EXPECT_EQ(read_jsonl(scratch, "{\"text\":\"a\",\"body\":\"c\"}\n{\"body\":\"\"}\n", options),
            Texts{"c"});
}

TEST(CorpusJsonl, BadLinesAreNamed) {
  const Scratch scratch;
  const auto refused = [&](const std::string& line, std::initializer_list<std::string> words) {
    expect_error(ExitCode::usage, {"one.jsonl:2", "data.max_bad_lines"},
                 [&] { read_jsonl(scratch, "{\"text\":\"a\"}\n" + line); });
    expect_error(ExitCode::usage, words, [&] { read_jsonl(scratch, "{\"text\":\"a\"}\n" + line); });
  };
  refused("{\"text\":\"cut", {"parse error", "column"});
  refused("{\"tekst\":\"b\"}", {"no field \"text\"", "tekst"});
  refused("{\"text\":5}", {"number", "not a string"});
  refused("[{\"text\":\"b\"}]", {"array", "jq"});
  refused("\"b\"", {"string, not an object"});
  refused("{\"text\":\"\xff\"}", {"parse error"});
  refused(std::string(50000, '['), {"parse error"});
}

TEST(CorpusJsonl, BadLinesAreSkippedUpToALimit) {
  const Scratch scratch;
  const std::string text = "{\"text\":\"a\"}\nbad\n{}\n{\"text\":\"b\"}\n";
  CorpusOptions options;
  options.max_bad_lines = 2;
  EXPECT_EQ(read_jsonl(scratch, text, options), (Texts{"a", "b"}));
  options.max_bad_lines = 1;
  expect_error(ExitCode::usage, {"one.jsonl:3", "2 bad lines", "allows 1"},
               [&] { read_jsonl(scratch, text, options); });
}

TEST(CorpusJsonl, OfManyBadLinesTenAreTold) {
  const Scratch scratch;
  std::string text = "{\"text\":\"a\"}\n";
  for (int i = 0; i < 35; ++i) text += "bad\n";
  CorpusOptions options;
  options.max_bad_lines = 100;
  testing::internal::CaptureStderr();
  EXPECT_EQ(read_jsonl(scratch, text, options), Texts{"a"});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 10) << said;
  EXPECT_NE(said.find("left out: "), std::string::npos) << said;
  EXPECT_NE(said.find("one.jsonl:11:"), std::string::npos) << said;
  EXPECT_EQ(said.find("one.jsonl:12:"), std::string::npos) << said;
}

TEST(CorpusJsonl, LongLinesAreRefusedAndLongDocumentsCut) {
  const Scratch scratch;
  const std::string text = random_text(5000);
  std::string escaped;
  for (const char byte : text) escaped += byte == '\n' ? "\\n" : std::string(1, byte);
  CorpusOptions options;
  options.piece_bytes = 100;
  EXPECT_EQ(read_jsonl(scratch, "{\"text\":\"" + escaped + "\"}", options), Texts{text});
  options.most_line_bytes = 1000;
  expect_error(ExitCode::usage, {"one.jsonl:1", "longer than 1000 bytes"},
               [&] { read_jsonl(scratch, "{\"text\":\"" + escaped + "\"}", options); });
}

constexpr std::pair<const char*, const char*> kFilters[] = {
    {"a.gz", "gzip"}, {"a.xz", "xz"}, {"a.zst", "zstd"}, {"a.bz2", "bzip2"}, {"a.lz4", "lz4"}};

TEST(CorpusCompressed, IsReadThrough) {
  const Scratch scratch;
  const std::string text = random_text(1 << 20), half = text.substr(0, 500000),
                    rest = text.substr(500000);
  for (const auto& [name, filter] : kFilters) {
    write_file(scratch.file(name), packed(filter, half) + packed(filter, rest));
    EXPECT_TRUE(read_all({scratch.file(name)}) == Texts{text}) << name;
    if (filter == std::string("lz4")) continue;  // libarchive writes nothing as that
    write_file(scratch.file(name), packed(filter, ""));
    EXPECT_EQ(read_all({scratch.file(name)}), Texts{}) << name;
  }
  write_file(scratch.file("b.jsonl.gz"), packed("gzip", "{\"text\":\"z\"}\n"));
  EXPECT_EQ(read_all({scratch.file("b.jsonl.gz")}), Texts{"z"});
}

TEST(CorpusCompressed, DamageIsFoundAndNamed) {
  const Scratch scratch;
  const std::string text = random_text(300000);
  std::mt19937 random(29);
  for (const auto& [name, filter] : kFilters) {
    const std::string path = scratch.file(name), bytes = packed(filter, text);
    for (int round = 0; round < 20; ++round) {
      write_file(path, bytes.substr(0, 12 + random() % (bytes.size() - 12)));
      expect_error(ExitCode::usage, {name, "cut short", "compressed bytes"},
                   [&] { read_all({path}); });
    }
    write_file(path, bytes + "bytes that are no such data");
    expect_error(ExitCode::usage, {name}, [&] { read_all({path}); });
    // This zstd has no checksum.
    for (int round = 0; round < 20 && filter != std::string("zstd"); ++round) {
      std::string flipped = bytes;
      flipped[100 + random() % (bytes.size() - 200)] ^= 0x20;
      write_file(path, flipped);
      expect_error(ExitCode::usage, {name}, [&] { read_all({path}); });
    }
  }
}

TEST(CorpusCompressed, ChecksumsOfZstdAreLookedAt) {
  const Scratch scratch;
  const std::string bytes = bytes_of_file("data/golden/lines.zst");
  std::string text;
  for (int i = 1; i <= 300; ++i) text += fmt::format("line {} of a text\n", i);
  EXPECT_EQ(read_all({"data/golden/lines.zst"}), Texts{text});
  size_t refused = 0;
  for (size_t at = 12; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] ^= 0x20;
    write_file(scratch.file("a.zst"), flipped);
    // Some bits do not count.
    try {
      EXPECT_EQ(read_all({scratch.file("a.zst")}), Texts{text}) << at;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("a.zst"), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, (bytes.size() - 12) * 9 / 10);
}

TEST(CorpusInputs, ForeignFilesAreRefused) {
  const Scratch scratch;
  const auto refused = [&](const std::string& name, const std::string& bytes,
                           const std::string& word) {
    write_file(scratch.file(name), bytes);
    expect_error(ExitCode::usage, {name, word}, [&] { read_all({scratch.file(name)}); });
  };
  refused("a.txt", std::string("\xFF\xFEh\0i\0", 6), "UTF-16");
  refused("a.parquet", "PAR1....", "DuckDB");
  refused("a.pack", "PK\x03\x04....", "zip data is cut short");
  refused("a.h5", "\x89HDF\r\n\x1a\n", "HDF5");
  refused("b.gz", "plain text", "named .gz");
  refused("b.zst", "", "named .zst");
  refused("b.bz2", "BZh is no text of that kind", "named .bz2");
}

TEST(CorpusInputs, DirectoriesStandForTheirFilesInOrder) {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.file("d/sub/.git"));
  std::filesystem::create_directories(scratch.file("none"));
  write_file(scratch.file("d/b.txt"), "2");
  write_file(scratch.file("d/a.jsonl"), "{\"text\":\"1\"}");
  write_file(scratch.file("d/sub/c.txt"), "3");
  write_file(scratch.file("d/sub/.git/x.txt"), "hidden");
  write_file(scratch.file("d/.hidden"), "hidden");
  EXPECT_EQ(read_all({scratch.file("d")}), (Texts{"1", "2", "3"}));
  EXPECT_EQ(read_all({scratch.file("d/b.txt"), scratch.file("d/sub")}), (Texts{"2", "3"}));
  expect_error(ExitCode::usage, {"none", "no files"}, [&] { read_all({scratch.file("none")}); });
  expect_error(ExitCode::usage, {"missing.txt", "cannot read"},
               [&] { read_all({scratch.file("missing.txt")}); });
  expect_error(ExitCode::usage, {"no input"}, [&] { read_all({}); });
  expect_error(ExitCode::usage, {"stdin"}, [&] { read_all({"-", "-"}); });
}

TEST(CorpusInputs, BytesAreCounted) {
  const Scratch scratch;
  write_file(scratch.file("a.txt"), "12345");
  write_file(scratch.file("b.txt"), "678");
  CorpusReader reader({scratch.file("a.txt"), scratch.file("b.txt")}, {});
  EXPECT_EQ(reader.bytes_total(), 8);
  for (CorpusPiece piece; reader.next(piece);) {
  }
  EXPECT_EQ(reader.bytes_read(), 8);
  EXPECT_EQ(CorpusReader({"-"}, {}).bytes_total(), -1);
}

TEST(CorpusInputs, OptionsThatContradictAreRefused) {
  const Scratch scratch;
  CorpusOptions both, negative, lines;
  both.document_separator = "x";
  both.blank_lines = 2;
  negative.max_bad_lines = -1;
  lines.document_separator = "a\nb";
  expect_error(ExitCode::usage, {"data.document_separator", "data.blank_lines"},
               [&] { read_text(scratch, "a", both); });
  expect_error(ExitCode::usage, {"data.max_bad_lines", "-1"},
               [&] { read_text(scratch, "a", negative); });
  expect_error(ExitCode::usage, {"one line"}, [&] { read_text(scratch, "a", lines); });
}

TEST(CorpusInputs, OutputsMustDoNoHarm) {
  const Scratch scratch;
  write_file(scratch.file("a.txt"), "1");
  const Texts taken = {scratch.file("a.txt"), "-"};
  EXPECT_NO_THROW(check_output("output.path", scratch.file("b.h5"), taken));
  expect_error(ExitCode::usage, {"output.path", "a.txt", "destroy"},
               [&] { check_output("output.path", scratch.file("./a.txt"), taken); });
  expect_error(ExitCode::usage, {"output.path", "directory"},
               [&] { check_output("output.path", scratch.file("no/b.h5"), taken); });
  expect_error(ExitCode::usage, {"output.path", "directory"},
               [&] { check_output("output.path", scratch.file(""), taken); });
  expect_error(ExitCode::usage, {"output.path", "empty"},
               [&] { check_output("output.path", "", taken); });
}

}  // namespace
}  // namespace skein::data
