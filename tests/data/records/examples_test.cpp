#include "skein/data/records/examples.h"

#include <zlib.h>

#include "skein/data/files/suffix.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;

std::vector<LabelledExample> examples_in(const std::string& name, const std::string& bytes,
                                         ExamplesConfig config = {}) {
  const Scratch scratch;
  write_file(scratch.file(name), bytes);
  config.files = {scratch.file(name)};
  return read_examples(config);
}

ExamplesConfig columns(const std::string& text, const std::string& label,
                       const std::string& pair = "") {
  return {.text = text, .pair = pair, .label = label};
}

// "text|label@line" of each example.
std::vector<std::string> summary(const std::vector<LabelledExample>& examples) {
  std::vector<std::string> lines;
  for (const auto& e : examples)
    lines.push_back(e.text + "|" + e.label + "@" + std::to_string(e.line));
  return lines;
}

using Lines = std::vector<std::string>;

void refuse_examples(const std::string& name, const std::string& bytes,
                     std::initializer_list<std::string> words, const ExamplesConfig& config = {}) {
  SCOPED_TRACE(bytes.substr(0, 60));
  expect_error(ExitCode::usage, words, [&] { examples_in(name, bytes, config); });
}

TEST(ExamplesCsv, QuotesCommasAndLineBreaks) {
  const std::string text =
      "id,text,label\n"
      "1,plain text,a\n"
      "2,\"with, comma\",b\n"
      "3,\"said \"\"no\"\"\",a\n"
      "4,\"two\nlines\n\",\"b\"\n"
      "5,\"\",a\n"
      "6,,a\n"
      "7,\"\"\"\",a";
  EXPECT_EQ(summary(examples_in("x.csv", text)),
            (Lines{"plain text|a@2", "with, comma|b@3", "said \"no\"|a@4", "two\nlines\n|b@5",
                   "|a@8", "|a@9", "\"|a@10"}));
}

TEST(ExamplesCsv, LineEndsMarkAndEmptyLines) {
  const Lines wanted{"x\r\ny|a@3", "z|b@6"};
  EXPECT_EQ(
      summary(examples_in("x.csv", "\xEF\xBB\xBFtext,label\r\n\r\n\"x\r\ny\",a\r\n\r\nz,b\r\n")),
      wanted);
  EXPECT_EQ(
      summary(examples_in("x.csv", "\xEF\xBB\xBF\"text\",label\r\n\r\n\"x\r\ny\",a\r\n\r\nz,b\r")),
      wanted);
  EXPECT_EQ(summary(examples_in("x.csv", "text,label\n,a\n ,b\n")), (Lines{"|a@2", " |b@3"}));
}

TEST(ExamplesCsv, ColumnsHaveNamesThatAreText) {
  const std::string header = "text,pr\xE9nom,label\n";
  refuse_examples("x.csv", "\n" + header + "a,b,c\n",
                  {"x.csv:2", "name of column 2", "begins \"pr\"", "not valid UTF-8"});
  refuse_examples("x.tsv", "text\tlabel\t\xFFid\na\tb\tc\n",
                  {"x.tsv:1", "name of column 3", "begins \"\""});
  ExamplesConfig numbers = columns("1", "2");
  numbers.header = Header::no;
  EXPECT_EQ(examples_in("x.csv", "\xFF,a\n", numbers).at(0).text, "\xFF") << "a row of no names";
}

TEST(ExamplesCsv, BytesThatAreNoTextAreKept) {
  const std::string odd("\xFF\x00\xC3", 3);
  EXPECT_EQ(examples_in("x.csv", "text,label\n" + odd + ",a\n").at(0).text, odd);
  EXPECT_EQ(examples_in("x.csv", "text,label\n\"" + odd + "\",a\n").at(0).text, odd);
}

TEST(ExamplesCsv, ColumnsByNameOrNumber) {
  const std::string text = "first,second,class\na,b,c\n";
  const auto examples = examples_in("x.csv", text, columns("second", "class", "first"));
  EXPECT_EQ(examples.at(0).text + examples.at(0).pair + examples.at(0).label, "bac");
  EXPECT_EQ(summary(examples_in("x.csv", text, columns("first", "3"))), Lines{"a|c@2"});
  EXPECT_EQ(summary(examples_in("x.csv", text, columns("first", ""))), Lines{"a|@2"});
  auto config = columns("1", "3");
  refuse_examples("x.csv", text, {"header", "number"}, config);
  config.header = Header::no;
  EXPECT_EQ(summary(examples_in("x.csv", text, config)), (Lines{"first|class@1", "a|c@2"}));
  config.header = Header::yes;
  EXPECT_EQ(summary(examples_in("x.csv", text, config)), Lines{"a|c@2"});
}

TEST(ExamplesCsv, BrokenQuotes) {
  refuse_examples("x.csv", "text,label\na,b\n\"never closed,a\nmore,b\n",
                  {"x.csv:3", "field 1", "never closed"});
  refuse_examples("x.csv", "text,label\n\"a\" b,c\n", {"x.csv:2", "closing quote", "\" b,c\""});
  refuse_examples("x.csv", "text,label\n\"open,c\nd,e\nlast,\"f\"\n",
                  {"x.csv:4", "opened on line 2", "f"});
  refuse_examples("x.csv", "text,label\na \"b\" c,d\n",
                  {"x.csv:2", "field 1 holds a quote", "a \"b\" c"});
}

TEST(ExamplesCsv, RaggedRows) {
  refuse_examples("x.csv", "text,label\na,b\nc\n",
                  {"x.csv:3", "1 fields", "header on line 1 has 2", "text, label"});
  refuse_examples("x.csv", "text,label\na,b,c\n", {"x.csv:2", "3 fields", "has 2"});
  refuse_examples("x.csv", "text,label\na,b\n \n", {"x.csv:3", "1 fields"});
}

TEST(ExamplesCsv, MissingColumns) {
  refuse_examples("x.csv", "txet,label,other\na,b,c\n",
                  {"x.csv:1", "no column \"text\"", "txet, label, other", "did you mean \"txet\""});
  refuse_examples("x.csv", "text,label\na,b\n", {"\"category\"", "for the label", "text, label"},
                  columns("text", "category"));
  refuse_examples("x.csv", "text,label,text\na,b,c\n", {"2 columns", "\"text\""});
  refuse_examples("x.csv", "text,label\na,b\n", {"number 3", "2 columns"}, columns("text", "3"));
  refuse_examples("x.csv", "text,label\na,b\n", {"number 0", "from 1"}, columns("text", "0"));
  refuse_examples("x.csv", "text,label\na,b\n", {"number 9999"},
                  columns("text", std::string(40, '9')));
  refuse_examples("x.csv", "text,label\na,b\n", {"same column"}, columns("text", "1"));
  std::string wide = "text";
  for (int i = 0; i < 2000; ++i) wide += ",column" + std::to_string(i);
  refuse_examples("x.csv", wide + "\n", {"column1, ", ", ..."});
}

TEST(Examples, EmptyFiles) {
  refuse_examples("x.csv", "", {"x.csv is empty", "first row"});
  refuse_examples("x.csv", "\n\r\n", {"x.csv is empty"});
  refuse_examples("x.csv", "text,label\n", {"x.csv holds no examples"});
  refuse_examples("x.tsv", "", {"x.tsv holds no examples"}, columns("1", "2"));
  refuse_examples("x.jsonl", "\n", {"x.jsonl holds no examples"});
  const Scratch scratch;
  write_file(scratch.file("a.csv"), "text\nx\n");
  write_file(scratch.file("b.csv"), "text\n");
  auto config = columns("text", "");
  config.files = {scratch.file("a.csv"), scratch.file("b.csv")};
  expect_error(ExitCode::usage, {"b.csv holds no examples"}, [&] { read_examples(config); });
}

TEST(Examples, SizesAreBounded) {
  auto config = columns("text", "label");
  config.most_record_bytes = 1000;
  const std::string fits(900, 'x');
  EXPECT_EQ(examples_in("x.csv", "text,label\n" + fits + ",b\n", config).at(0).text, fits);
  EXPECT_EQ(examples_in("x.csv", "text,label\n" + fits + ",b\n" + fits + ",b\n", config).size(),
            2u);
  refuse_examples("x.csv", "text,label\n" + fits + fits + ",b\n", {"x.csv:2", "1000 bytes"},
                  config);
  refuse_examples("x.tsv", "text\tlabel\n" + fits + fits + "\tb\n",
                  {"x.tsv:2", "1000 bytes", "TSV"}, config);
  refuse_examples("x.jsonl", "{\"text\":\"" + fits + fits + "\"}\n", {"x.jsonl:1", "1000 bytes"},
                  config);
  std::string open = "text,label\n\"";
  for (int i = 0; i < 500; ++i) open += "line\n";
  refuse_examples("x.csv", open, {"1000 bytes", "every quote closed"}, config);
  refuse_examples("x.csv", std::string(20000, ',') + "\n", {"x.csv:1", "10000 fields"});
}

TEST(Examples, HugeFieldsAreRead) {
  const std::string huge(5 << 20, 'x');
  EXPECT_EQ(examples_in("x.csv", "text,label\n\"" + huge + "\n\",b\n").at(0).text, huge + "\n");
  EXPECT_EQ(examples_in("x.jsonl", "{\"label\":\"b\",\"text\":\"" + huge + "\"}").at(0).text, huge);
}

TEST(ExamplesTsv, NothingIsQuoted) {
  const std::string text = "1\tsaid \"no\", left\n0\t\"open\r\n\n1\tlast";
  EXPECT_EQ(summary(examples_in("x.tsv", text, columns("2", "1"))),
            (Lines{"said \"no\", left|1@1", "\"open|0@2", "last|1@4"}));
  EXPECT_EQ(summary(examples_in("x.tsv", "label\ttext\n1\ta\n", columns("text", "label"))),
            Lines{"a|1@2"});
  refuse_examples("x.tsv", "1\ta\n0\n", {"x.tsv:2", "1 fields", "first row on line 1 has 2"},
                  columns("2", "1"));
  refuse_examples("x.tsv", "1\ta\n0\tb\n", {"x.tsv:1", "no column \"text\"", "1, a"});
  auto config = columns("text", "1");
  config.header = Header::no;
  refuse_examples("x.tsv", "1\ta\n", {"no header", "number"}, config);
}

TEST(ExamplesJsonl, KeysAndKindsOfLabels) {
  EXPECT_EQ(
      summary(examples_in("x.jsonl",
                          "{\"text\":\"a\",\"label\":\"x\"}\r\n\n{\"label\":3,\"text\":\"b\"}\n{"
                          "\"text\":\"c\",\"label\":true}")),
      (Lines{"a|x@1", "b|3@3", "c|true@4"}));
  const auto pair = examples_in("x.json", "{\"a\":\"first\",\"b\":\"second\",\"c\":\"yes\"}",
                                columns("a", "c", "b"));
  EXPECT_EQ(pair.at(0).pair, "second");
}

TEST(ExamplesJsonl, Faults) {
  refuse_examples("x.jsonl", "{\"text\":\"a\",\"lable\":\"x\"}",
                  {"x.jsonl:1", "no key \"label\"", "lable, text", "did you mean \"lable\""});
  refuse_examples("x.jsonl", "{\"text\":1,\"label\":\"x\"}",
                  {"x.jsonl:1", "\"text\" is a JSON number, not a string"});
  refuse_examples("x.jsonl", "{\"text\":\"a\",\"label\":1.5}", {"fraction"});
  refuse_examples("x.jsonl", "{\"text\":\"a\",\"label\":null}", {"JSON null", "a label is"});
  refuse_examples("x.jsonl", "{\"text\":\"a\"", {"x.jsonl:1", "parse error"});
  refuse_examples("x.jsonl", "{\"text\":\"\xFF\",\"label\":\"a\"}", {"x.jsonl:1", "parse error"});
  refuse_examples("x.jsonl", "[{}]", {"JSON array"});
  refuse_examples("x.jsonl", "7", {"JSON number, not an object"});
  refuse_examples("x.jsonl", std::string(100000, '['), {"parse error"});
}

TEST(ExamplesLines, EachIsATextWithoutItsBreak) {
  const ExamplesConfig config{.format = ExamplesFormat::lines, .label = ""};
  EXPECT_EQ(
      summary(examples_in("x.txt", "\xEF\xBB\xBFone\n\r\n two \t\r\n\"three\r\n\nfour", config)),
      (Lines{"one|@1", "|@2", " two \t|@3", "\"three|@4", "|@5", "four|@6"}));
}

TEST(Examples, NumbersAreReadStrictly) {
  auto config = columns("text", "label");
  config.numbers = true;
  const auto examples = examples_in("x.csv", "text,label\na,3\nb,-0.25\nc,1e-3\n", config);
  EXPECT_EQ(examples.at(0).value, 3);
  EXPECT_EQ(examples.at(1).value, -0.25);
  EXPECT_EQ(examples.at(2).value, 0.001);
  for (const std::string label : {"3x", " 3", "+3", "3,5", "nan", "inf", "1e999", "0x10", "three"})
    refuse_examples("x.csv", "text,label\na,\"" + label + "\"\n", {"x.csv:2", "no number", label},
                    config);
  EXPECT_EQ(examples_in("x.jsonl", "{\"text\":\"a\",\"label\":2.5}", config).at(0).value, 2.5);
  EXPECT_EQ(examples_in("x.jsonl", "{\"text\":\"a\",\"label\":\"2.5\"}", config).at(0).value, 2.5);
  refuse_examples("x.jsonl", "{\"text\":\"a\",\"label\":true}", {"a number"}, config);
  EXPECT_EQ(examples_in("x.csv", "text,label\na,3\n").at(0).value, 0);
}

TEST(Examples, LabelsMustBeText) {
  refuse_examples("x.csv", "text,label\na,b\nc,\xFF\n", {"x.csv:3", "label", "UTF-8"});
  refuse_examples("x.tsv", "text\tlabel\nc\t\xC3\n", {"x.tsv:2", "label", "UTF-8"});
}

TEST(Examples, EmptyLabelsAreRefused) {
  refuse_examples("x.csv", "text,label\na,\n", {"x.csv:2", "label is empty"});
  refuse_examples("x.jsonl", "{\"text\":\"a\",\"label\":\"\"}", {"x.jsonl:1", "label is empty"});
}

TEST(Examples, CompressedFilesAndSeveral) {
  const Scratch scratch;
  const std::string packed = scratch.file("a.csv.gz");
  const gzFile file = gzopen(packed.c_str(), "wb");
  gzputs(file, "label,text\nx,one\n");
  gzclose(file);
  write_file(scratch.file("b.csv"), "text,label\ntwo,y\n");
  ExamplesConfig config{.files = {packed, scratch.file("b.csv")}};
  const auto examples = read_examples(config);
  EXPECT_EQ(summary(examples), (Lines{"one|x@2", "two|y@2"}));
  EXPECT_EQ(where_of(examples[1], config), scratch.file("b.csv") + ":2");
}

TEST(Examples, FormatsAreInTheirNames) {
  using Named = std::pair<const char*, NamedFormat>;
  for (const auto& [name, format] : {Named{"a.csv", NamedFormat::csv},
                                     {"a.tsv", NamedFormat::tsv},
                                     {"a.tab.gz", NamedFormat::tsv},
                                     {"a/b.jsonl.zst", NamedFormat::jsonl},
                                     {"a.ndjson.xz", NamedFormat::jsonl},
                                     {"a.json", NamedFormat::jsonl},
                                     {"a.txt", NamedFormat::other},
                                     {"csv", NamedFormat::other},
                                     {"a.csv.bz2", NamedFormat::csv},
                                     {"a.csv.zip", NamedFormat::other},
                                     {"", NamedFormat::other}})
    EXPECT_EQ(format_in_name(name), format) << name;
}

TEST(Examples, FormatsAndConfigurationsThatCannotBe) {
  refuse_examples("x.dat", "a", {"x.dat", "CSV, TSV or JSONL", "format"});
  auto config = columns("text", "label");
  config.format = ExamplesFormat::jsonl;
  EXPECT_EQ(examples_in("x.dat", "{\"text\":\"a\",\"label\":\"b\"}", config).size(), 1u);
  refuse_examples("x.csv", "a", {"both \"text\"", "different columns"}, columns("text", "text"));
  refuse_examples("x.csv", "a", {"second text", "label as well"},
                  columns("text", "label", "label"));
  refuse_examples("x.csv", "a", {"no text column"}, columns("", "label"));
  expect_error(ExitCode::usage, {"no file"}, [] { read_examples({}); });
  expect_error(ExitCode::usage, {"missing.csv"},
               [] { read_examples({.files = {"/nowhere/missing.csv"}}); });
}

}  // namespace
}  // namespace skein::data
