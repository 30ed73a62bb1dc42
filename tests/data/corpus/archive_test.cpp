#include <random>

#include "skein/core/log.h"
#include "skein/data/corpus/corpus.h"
#include "skein/data/corpus/encode.h"
#include "skein/data/corpus/learn_tokenizer.h"
#include "skein/data/records/examples.h"

#include "data/archives.h"
#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

Texts documents_of(const Texts& inputs, const CorpusOptions& options = {}) {
  CorpusReader reader(inputs, options);
  Texts documents;
  bool open = false;
  for (CorpusPiece piece; reader.next(piece); open = piece.continues) {
    if (!open) documents.emplace_back();
    documents.back() += piece.text;
  }
  return documents;
}

// What reading logs.
std::string said_reading(const std::string& input, const Texts& expected) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(documents_of({input}), expected);
  return testing::internal::GetCapturedStderr();
}

std::string words(size_t count) {
  std::mt19937 random(7);
  std::string text;
  for (size_t i = 0; i < count; ++i) text += fmt::format("word{} ", random() % 1000);
  return text;
}

std::string noise(size_t size) {
  std::mt19937 random(11);
  std::string bytes;
  while (bytes.size() < size) bytes += static_cast<char>(random() % 256);
  return bytes;
}

const std::vector<ArchiveMember> kMembers = {
    {"./b.txt", "second\nfirst"},
    {"folder", "", AE_IFDIR},
    {"folder/a.jsonl", "{\"text\":\"one\"}\n{\"text\":\"two\"}\n"},
    {"folder/c.csv", "x,y\n"}};
const Texts kDocuments = {"second\nfirst", "one", "two", "x,y\n"};

TEST(Archives, MembersAreFilesOfText) {
  const Scratch scratch;
  for (const char* format : {"pax", "ustar", "zip"})
    for (const char* filter : {"none", "gzip", "xz", "zstd", "bzip2", "lz4"}) {
      // Known by their contents, whatever the name.
      const std::string path = scratch.file("any.name");
      write_file(path, archived(format, filter, kMembers));
      EXPECT_EQ(documents_of({path}), kDocuments) << format << " " << filter;
    }
}

TEST(Archives, StandBesideOtherInputsAndInFolders) {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.file("d"));
  write_file(scratch.file("d/b.zip"), archived("zip", "none", kMembers));
  write_file(scratch.file("d/a.txt"), "before");
  write_file(scratch.file("d/c.txt"), "after");
  Texts expected = kDocuments;
  expected.insert(expected.begin(), "before");
  expected.push_back("after");
  EXPECT_EQ(documents_of({scratch.file("d")}), expected);
  CorpusReader reader({scratch.file("d")}, {});
  for (CorpusPiece piece; reader.next(piece);) {
  }
  EXPECT_GT(reader.bytes_read(), 0);
  EXPECT_LE(reader.bytes_read(), reader.bytes_total());
}

TEST(Archives, CompressedMembersAreReadThrough) {
  const Scratch scratch;
  constexpr std::pair<const char*, const char*> kFilters[] = {
      {"gzip", ".gz"}, {"xz", ".xz"}, {"zstd", ".zst"}, {"bzip2", ".bz2"}, {"lz4", ".lz4"}};
  std::vector<ArchiveMember> members;
  for (const auto& [filter, suffix] : kFilters)
    members.push_back({std::string("a.jsonl") + suffix,
                       packed(filter, fmt::format("{{\"text\":\"{}\"}}", filter))});
  for (const char* format : {"pax", "zip"}) {
    write_file(scratch.file("x"), archived(format, "none", members));
    EXPECT_EQ(documents_of({scratch.file("x")}), (Texts{"gzip", "xz", "zstd", "bzip2", "lz4"}));
  }
}

TEST(Archives, WhatIsNoTextIsLeftOutAndTold) {
  const Scratch scratch;
  const std::string inner = archived("zip", "none", kMembers);
  for (const char* format : {"pax", "zip"}) {
    const std::string path = scratch.file("x.pack");
    write_file(path, archived(format, "none",
                              {{"a.txt", "text"},
                               {".DS_Store", "x"},
                               {"__MACOSX/._a.txt", "x"},
                               {"link.txt", "a.txt", AE_IFLNK},
                               {"b.png", "\x89PNG\r\n\x1a\n and more"},
                               {"c.bin", noise(4000)},
                               {"d.zip", inner},
                               {"e.txt", "more"}}));
    const std::string said = said_reading(path, {"text", "more"});
    for (const char* word :
         {"6 files are left out", "x.pack/.DS_Store (hidden)", "x.pack/__MACOSX/._a.txt (hidden)",
          "x.pack/link.txt (a link or a device)", "x.pack/b.png (a PNG image)",
          "x.pack/c.bin (binary data", "x.pack/d.zip (a zip archive in an archive)"})
      EXPECT_NE(said.find(word), said.npos) << format << ": " << word << " in: " << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  }
}

TEST(Archives, FoldersTellWhatTheyLeaveOut) {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.file("d/.git"));
  write_file(scratch.file("d/a.txt"), "text");
  std::filesystem::create_directories(scratch.file("elsewhere"));
  write_file(scratch.file("elsewhere/b.txt"), "linked");
  std::filesystem::create_directory_symlink(scratch.file("elsewhere"), scratch.file("d/link"));
  write_file(scratch.file("d/.git/config"), "hidden");
  write_file(scratch.file("d/no_ending"), "words");
  for (int i = 0; i < 12; ++i)
    write_file(scratch.file(fmt::format("d/p{:02}.png", i)), "\x89PNG\r\n\x1a\n");
  const std::string said = said_reading(scratch.file("d"), {"text", "words"});
  EXPECT_NE(said.find("14 files are left out: " + scratch.file("d/.git") + " (hidden), " +
                      scratch.file("d/link") + " (a link to a folder), " +
                      scratch.file("d/p00.png") + " (a PNG image), "),
            said.npos)
      << said;
  EXPECT_NE(said.find("p07.png (a PNG image), ...\n"), said.npos) << said;
  EXPECT_EQ(said.find("p08.png"), said.npos) << said;
  EXPECT_EQ(said_reading(scratch.file("d/a.txt"), {"text"}), "");
}

TEST(Archives, DamageIsNamedWithTheMember) {
  const Scratch scratch;
  const std::string path = scratch.file("x.pack");
  const std::vector<ArchiveMember> members = {{"a.txt", words(2000)},
                                              {"folder/b.txt", words(50000)}};
  const auto refused = [&](const std::string& bytes, std::initializer_list<std::string> said) {
    write_file(path, bytes);
    expect_error(ExitCode::usage, said, [&] { documents_of({path}); });
  };
  const std::string tar = archived("ustar", "none", members),
                    zip = archived("zip", "none", members);
  refused(tar.substr(0, tar.size() / 2), {"x.pack", "member folder/b.txt", "cut short"});
  refused(tar.substr(0, tar.size() - 1024), {"x.pack", "tar data", "cut short"});
  refused(zip.substr(0, zip.size() / 2), {"x.pack", "member folder/b.txt"});
  std::string flipped = zip;
  flipped[zip.size() / 2] ^= 0x20;
  refused(flipped, {"x.pack", "member folder/b.txt"});
  for (const char* filter : {"gzip", "xz", "bzip2", "lz4"}) {
    const std::string packed_tar = archived("ustar", filter, members);
    refused(packed_tar.substr(0, packed_tar.size() / 2), {"x.pack", "cut short"});
    flipped = packed_tar;
    flipped[packed_tar.size() / 2] ^= 0x20;
    refused(flipped, {"x.pack"});
    // The sums at the very end, behind the last member, are looked at as well.
    if (filter != std::string("gzip")) continue;
    flipped = packed_tar;
    flipped[packed_tar.size() - 6] ^= 0x20;
    refused(flipped, {"x.pack", "gzip"});
  }
  refused(archived("zip", "none", members, "zip:encryption=zipcrypt"),
          {"x.pack", "member a.txt is encrypted"});
}

// What comes of reading it: the text, or the error; and then reading on.
std::string read_on(const std::string& path) {
  CorpusReader reader({path}, {});
  std::string text;
  for (int errors = 0; errors < 3;) {
    try {
      CorpusPiece piece;
      if (!reader.next(piece)) break;
      text += piece.text;
    } catch (const Error& error) {
      EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(ExitCode::usage)) << error.what();
      if (errors++ == 0)
        text = error.what();
      else
        EXPECT_EQ(text, error.what());
    }
  }
  return text;
}

// libarchive 3.6 frees the sum of a frame where it is compared and keeps the flag that there is
// one.
TEST(Archives, NoDamageOfLz4FramesIsTakenForText) {
  const Scratch scratch;
  const std::string path = scratch.file("x.lz4"), text = words(20000), frame = packed("lz4", text);
  ASSERT_NE(frame[4] & 0x04, 0) << "no sum of the contents";
  const auto read_back = [&](const std::string& bytes) {
    write_file(path, bytes);
    return read_on(path);
  };
  EXPECT_EQ(read_back(frame), text);
  EXPECT_EQ(read_back(frame + frame), text + text);
  const auto refused = [&](const std::string& bytes, const char* why) {
    const std::string said = read_back(bytes);
    EXPECT_TRUE(said.starts_with(path)) << why << ": " << said.substr(0, 100);
    EXPECT_TRUE(said.find("damaged") != said.npos || said.find("cut short") != said.npos)
        << why << ": " << said.substr(0, 100);
  };
  std::string wrong = frame;
  wrong.back() ^= 0x20;
  refused(wrong, "the sum is wrong");
  refused(wrong + frame, "the sum of the first of two is wrong");
  refused(frame + wrong, "the sum of the second of two is wrong");
  refused(wrong + wrong, "both are wrong");
  for (size_t left = 1; left < 24; ++left) {
    const std::string why = fmt::format("{} bytes are left away", left);
    refused(frame.substr(0, frame.size() - left), why.c_str());
    refused(frame + frame.substr(0, frame.size() - left), why.c_str());
    refused(frame + frame.substr(0, left), "a second one has hardly begun");
  }
}

TEST(Archives, NoFlippedBitOfALz4FrameGivesOtherText) {
  const Scratch scratch;
  const std::string path = scratch.file("x.lz4"), text = words(300), frame = packed("lz4", text);
  for (size_t at = 0; at < frame.size(); at += at < 32 || at + 32 > frame.size() ? 1 : 17)
    for (int bit = 0; bit < 8; ++bit)
      for (const bool followed : {false, true}) {
        std::string damaged = frame;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        write_file(path, followed ? damaged + frame : damaged);
        const std::string read = read_on(path);
        EXPECT_TRUE(read == text || (followed && read == text + text) || read.starts_with(path))
            << at << " " << bit << ": " << read.substr(0, 100);
      }
}

TEST(Archives, AnEmptyOneHoldsNoText) {
  const Scratch scratch;
  const auto tokenizer = text::byte_tokenizer();
  EncodeConfig config;
  config.output = scratch.file("out.h5");
  write_file(scratch.file("x.zip"), archived("zip", "none", {}));
  expect_error(ExitCode::usage, {"no text"},
               [&] { encode_corpus({scratch.file("x.zip")}, *tokenizer, config); });
  EXPECT_EQ(scratch.entries(), 1);
}

TEST(Archives, DocumentsOfThemAreHeldOut) {
  const Scratch scratch;
  const auto tokenizer = text::byte_tokenizer();
  std::vector<ArchiveMember> members;
  for (int i = 0; i < 200; ++i)
    members.push_back({fmt::format("{}.txt", i), fmt::format("text {}", i)});
  write_file(scratch.file("x.tgz"), archived("pax", "gzip", members));
  EncodeConfig config;
  config.output = scratch.file("train.h5");
  config.validation = scratch.file("valid.h5");
  config.validation_fraction = 0.2;
  const EncodeSummary summary = encode_corpus({scratch.file("x.tgz")}, *tokenizer, config);
  EXPECT_EQ(summary.training.documents + summary.validation.documents, 200);
  EXPECT_NEAR(static_cast<double>(summary.validation.documents), 40, 25);
}

TEST(Archives, LabelledExamplesAreNotReadFromThem) {
  const Scratch scratch;
  write_file(scratch.file("x.csv"), archived("zip", "none", kMembers));
  ExamplesConfig config{.files = {scratch.file("x.csv")}};
  expect_error(ExitCode::usage, {"x.csv is an archive", "unpack it"},
               [&] { read_examples(config); });
}

TEST(Archives, MuchOfNothingIsStreamed) {
  const Scratch scratch;
  const std::string path = scratch.file("x.zip");
  write_file(path, archived("zip", "none", {{"a.txt", std::string(size_t{32} << 20, 'a')}}));
  EXPECT_LT(std::filesystem::file_size(path), size_t{1} << 17);
  CorpusReader reader({path}, {});
  int64_t bytes = 0;
  for (CorpusPiece piece; reader.next(piece);) {
    EXPECT_LE(piece.text.size(), size_t{4} << 20);
    bytes += static_cast<int64_t>(piece.text.size());
  }
  EXPECT_EQ(bytes, int64_t{32} << 20);
}

TEST(ForeignContent, IsRefusedByNameAndByContent) {
  const Scratch scratch;
  const auto tokenizer = text::byte_tokenizer();
  EncodeConfig encode;
  encode.output = scratch.file("out.h5");
  const auto refused = [&](const std::string& bytes, const std::string& what) {
    for (const char* name : {"a.txt", "a.jsonl"}) {
      const std::string path = scratch.file(name);
      write_file(path, bytes);
      expect_error(ExitCode::usage, {name, "is no text", what}, [&] { documents_of({path}); });
      expect_error(ExitCode::usage, {name, "is no text", what},
                   [&] { encode_corpus({path}, *tokenizer, encode); });
      expect_error(ExitCode::usage, {name, "is no text", what},
                   [&] { learn_tokenizer({path}, {}); });
      write_file(path, packed("gzip", bytes));
      expect_error(ExitCode::usage, {name, "is no text", what}, [&] { documents_of({path}); });
    }
  };
  refused("\x89PNG\r\n\x1a\n....", "a PNG image");
  refused(
      "\x7F"
      "ELF\x02\x01\x01",
      "a program or library (ELF)");
  refused("\xFF\xD8\xFF\xE0 JFIF", "a JPEG image");
  refused(std::string("ARROW1\0\0", 8) + "....", "an Arrow or Feather file");
  refused("PAR1....", "DuckDB");
  refused("%PDF-1.4", "a PDF file");
  refused(std::string("\xFF\xFE"
                      "h\0i\0",
                      6),
          "UTF-16 text");
  refused(std::string("\xFF\xFE\0\0h\0\0\0", 8), "UTF-32 text");
  std::string wide;
  for (const char letter : std::string("wide text of two bytes each")) wide += {letter, '\0'};
  refused(wide, "are 0");
  refused(noise(300), "binary data");
  refused(noise(1 << 20), "binary data");
  refused("\x01\x02\x03\x04\x05\x06\x07\x0E and some words that follow", "control characters");
  std::string cyrillic;
  for (int i = 0; i < 40; ++i) cyrillic += "\xEF\xF0\xE8\xE2\xE5\xF2 ";
  refused(cyrillic, "iconv");
  EXPECT_EQ(scratch.entries(), 2);
}

// They are zip files, whose members are not what their authors wrote.
TEST(ForeignContent, DocumentsAndWeightsInZipFilesAreRefused) {
  const Scratch scratch;
  const auto looks_like = [&](const std::string& first, const std::string& what) {
    write_file(scratch.file("a.bin"), archived("zip", "none", {{first, "x"}, {"b.txt", "text"}}));
    expect_error(ExitCode::usage, {"a.bin", "is no text", what},
                 [&] { documents_of({scratch.file("a.bin")}); });
  };
  looks_like("[Content_Types].xml", "an Office document");
  looks_like("mimetype", "e-book");
  looks_like("META-INF/MANIFEST.MF", "a Java archive");
  looks_like("model/data.pkl", "weights of PyTorch");
  looks_like("arr_0.npy", "NumPy arrays");
  write_file(scratch.file("a.txt"), "words");
  EXPECT_EQ(documents_of({scratch.file("")}), Texts{"words"}) << "a folder leaves them out";
}

TEST(ForeignContent, TextsWithSlipsStayTexts) {
  const Scratch scratch;
  const auto kept = [&](const std::string& text) {
    write_file(scratch.file("a.txt"), text);
    EXPECT_EQ(documents_of({scratch.file("a.txt")}), Texts{text});
  };
  kept(
      "a\xFF"
      "b");
  kept(std::string("a\0b", 3));
  kept("\x01");
  kept("\x1B[1mbold\x1B[0m\f\v\b");
  std::string latin, russian;
  for (int i = 0; i < 100; ++i) latin += "d\xE9j\xE0 vu, gar\xE7on; ", russian += "привет, мир; ";
  kept(latin);
  kept(russian);
  kept(words(20000) + std::string(3, '\0') + "\xC3");
  kept("PK and BZh and ustar");
  kept("BZh5 is no archive");
}

}  // namespace
}  // namespace skein::data
