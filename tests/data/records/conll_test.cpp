#include "skein/data/records/conll.h"

#include <sstream>

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

std::vector<TaggedSentence> sentences_in(const std::string& bytes, ConllConfig config = {}) {
  const Scratch scratch;
  write_file(scratch.file("x.conll"), bytes);
  config.files = {scratch.file("x.conll")};
  return read_conll(config);
}

void refuse_sentences(const std::string& bytes, std::initializer_list<std::string> words,
                      const ConllConfig& config = {}) {
  SCOPED_TRACE(bytes.substr(0, 60));
  expect_error(ExitCode::usage, words, [&] { sentences_in(bytes, config); });
}

std::string written(const std::vector<TaggedSentence>& sentences) {
  std::ostringstream out;
  for (const auto& sentence : sentences)
    write_conll(out, sentence, Lines(sentence.words.size(), "P"));
  return out.str();
}

TEST(Conll, WordsTagsAndLines) {
  const auto sentences = sentences_in("\n\nEU\tB-ORG\nrejects\tO\n\t\n \r\nPeter\tB-PER\r\n");
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0].words, (Lines{"EU", "rejects"}));
  EXPECT_EQ(sentences[0].tags, (Lines{"B-ORG", "O"}));
  EXPECT_EQ(sentences[0].lines.front(), 3);
  EXPECT_EQ(sentences[1].words, Lines{"Peter"});
  EXPECT_EQ(sentences[1].lines.front(), 7);
}

TEST(Conll, ColumnsAndSeparators) {
  const std::string text = "EU NNP  I-NP B-ORG\nrejects VBZ I-VP \tO\n";
  EXPECT_EQ(sentences_in(text).at(0).tags, (Lines{"B-ORG", "O"}));
  ConllConfig config{.word = 2, .tag = -2};
  EXPECT_EQ(sentences_in(text, config).at(0).words, (Lines{"NNP", "VBZ"}));
  EXPECT_EQ(sentences_in(text, config).at(0).tags, (Lines{"I-NP", "I-VP"}));
  EXPECT_EQ(sentences_in("New York\tB-LOC\nis\tO\n").at(0).words, (Lines{"New York", "is"}));
  config = {.tag = 0};
  EXPECT_EQ(sentences_in("EU\nrejects\n", config).at(0).words, (Lines{"EU", "rejects"}));
  EXPECT_TRUE(sentences_in("EU\nrejects\n", config).at(0).tags.empty());
  config = {.separator = ColumnSeparator::spaces};
  EXPECT_EQ(sentences_in("a\tb c\n", config).at(0).tags, Lines{"c"});
  EXPECT_EQ(sentences_in("\xFFx\tO\n").at(0).words, Lines{"\xFFx"});
}

TEST(Conll, DocumentsAndCommentsBelongToNoSentence) {
  const std::string text =
      "-DOCSTART- -X- O\n\n# 1 O\na N O\n# 2 O\n\n-DOCSTART- -X- O\nc N O\n-DOCSTART- -X- O\nd N "
      "O\n";
  const auto plain = sentences_in(text);
  ASSERT_EQ(plain.size(), 3u);
  EXPECT_EQ(plain[0].words, (Lines{"#", "a", "#"}));
  EXPECT_EQ(plain[0].ahead, Lines{"-DOCSTART- -X- O"});
  EXPECT_EQ(plain[1].ahead, Lines{"-DOCSTART- -X- O"});
  EXPECT_EQ(plain[2].words, Lines{"d"});
  const auto sentences = sentences_in(text, {.comment = "#"});
  EXPECT_EQ(sentences.at(0).words, Lines{"a"});
  EXPECT_EQ(sentences.at(0).ahead, (Lines{"-DOCSTART- -X- O", "# 1 O", "# 2 O"}));
  EXPECT_EQ(written(sentences),
            "-DOCSTART- -X- O\n\n# 1 O\n# 2 O\na N O P\n\n-DOCSTART- -X- O\n\nc N O "
            "P\n\n-DOCSTART- -X- O\n\nd N O P\n\n");
}

TEST(Conll, RaggedAndEmptyFields) {
  refuse_sentences("a\tO\nb\n", {"x.conll:2", "1 columns", "tabs", "line 1, has 2"});
  refuse_sentences("a O\nb X O\n", {"x.conll:2", "3 columns", "spaces", "has 2", "b X O"});
  refuse_sentences("a\tO\n\tO\n", {"x.conll:2", "the word is empty"});
  refuse_sentences("a\tO\nb\t\n", {"x.conll:2", "the tag is empty"});
  refuse_sentences("a\tO\t\nb\tO\t\n", {"x.conll:1", "the tag is empty"});
  refuse_sentences("a\nb\n", {"x.conll:1", "same column", "tags missing"});
  refuse_sentences("a O\n", {"x.conll:1", "the tag's column is 3", "2 columns"}, {.tag = 3});
  refuse_sentences("a O\n", {"the word's column is -3", "2 columns"}, {.word = -3});
}

TEST(Conll, BytesThatAreNoTextAreKeptInWordsOnly) {
  EXPECT_EQ(sentences_in("b\xFFr O\n").front().words, Lines{"b\xFFr"});
  refuse_sentences("a O\nb B-\xFF\n", {"x.conll:2", "tag", "UTF-8"});
  EXPECT_EQ(sentences_in("b B-\xFF\n", {.tag = 0}).size(), 1u);
}

TEST(Conll, EmptyAndLongInput) {
  refuse_sentences("", {"x.conll holds no sentences"});
  refuse_sentences("-DOCSTART- O\n\n", {"holds no sentences"});
  refuse_sentences("a O\nb O\nc O\n", {"x.conll:3", "more than 2 words"}, {.most_words = 2});
  refuse_sentences("a O\n" + std::string(100, 'x') + " O\n", {"x.conll:2", "longer than 50 bytes"},
                   {.most_line_bytes = 50});
  EXPECT_EQ(sentences_in("a O\nb O\n\nc O\n", {.most_words = 2}).size(), 2u);
}

TEST(Conll, ConfigurationsThatCannotBe) {
  refuse_sentences("a O\n", {"column is 0"}, {.word = 0});
  refuse_sentences("a O\n", {"both column 1"}, {.tag = 1});
  expect_error(ExitCode::usage, {"no CoNLL file"}, [] { read_conll({}); });
}

TEST(Conll, WritesWhatItReadAndOneColumnMore) {
  EXPECT_EQ(written(sentences_in("a\tO\nb c\tB-X\n\n\nd\tO")),
            "a\tO\tP\nb c\tB-X\tP\n\nd\tO\tP\n\n");
  EXPECT_EQ(written(sentences_in("a  X O\r\n")), "a  X O P\n\n");
  EXPECT_EQ(written(sentences_in("a\nb\n", {.tag = 0})), "a P\nb P\n\n");
  EXPECT_EQ(written(sentences_in("New York\n", {.tag = 0, .separator = ColumnSeparator::tab})),
            "New York\tP\n\n");
}

TEST(Conll, SeveralFilesAndLines) {
  const Scratch scratch;
  write_file(scratch.file("a.conll"), "a\tO");
  write_file(scratch.file("b.conll"), "\nb\tO\nc\tO\n");
  const ConllConfig config{.files = {scratch.file("a.conll"), scratch.file("b.conll")}};
  const auto sentences = read_conll(config);
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(where_of(sentences[1], 1, config), scratch.file("b.conll") + ":3");
}

}  // namespace
}  // namespace skein::data
