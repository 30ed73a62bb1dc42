#include "skein/data/records/text_pairs.h"

#include "data/archives.h"
#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

// "source|target|references@line" of each pair.
Lines summary(const std::vector<TextPair>& pairs) {
  Lines lines;
  for (const TextPair& pair : pairs) {
    std::string line = pair.source + "|" + pair.target;
    for (const std::string& reference : pair.references) line += "|" + reference;
    lines.push_back(line + "@" + std::to_string(pair.line));
  }
  return lines;
}

Lines pairs_in(const std::string& name, const std::string& bytes, PairsConfig config = {}) {
  const Scratch scratch;
  write_file(scratch.file(name), bytes);
  config.files = {scratch.file(name)};
  return summary(read_pairs(config));
}

void refuse_pairs(const std::string& name, const std::string& bytes,
                  std::initializer_list<std::string> words, const PairsConfig& config = {}) {
  SCOPED_TRACE(bytes.substr(0, 60));
  expect_error(ExitCode::usage, words, [&] { pairs_in(name, bytes, config); });
}

TEST(TextPairs, AreReadFromTablesByNameAndByNumber) {
  const Lines wanted{"a cat|eine Katze@2", "a dog|ein Hund@3"};
  EXPECT_EQ(pairs_in("x.tsv", "en\tid\tde\na cat\t1\teine Katze\na dog\t2\tein Hund\n",
                     {.text = "en", .label = "de"}),
            wanted);
  EXPECT_EQ(pairs_in("x.csv", "de,en\neine Katze,a cat\n\"ein Hund\",a dog\n",
                     {.text = "en", .label = "de"}),
            wanted);
  EXPECT_EQ(pairs_in("x.tsv", "a cat\teine Katze\n", {.text = "1", .label = "2"}),
            (Lines{"a cat|eine Katze@1"}));
  EXPECT_EQ(pairs_in("x.csv", "text,label,other,third\na,b,c,d\n", {.references = {"third", "3"}}),
            (Lines{"a|b|d|c@2"}));
}

TEST(TextPairs, OfJsonMayHaveSeveralTargets) {
  const std::string text = R"({"text": "a", "label": "b"})"
                           "\n"
                           R"({"text": "c", "label": ["d", "e"], "more": ["f"], "one": "g"})";
  EXPECT_EQ(pairs_in("x.jsonl", text), (Lines{"a|b@1", "c|d|e@2"}));
  EXPECT_EQ(pairs_in("x.jsonl", R"({"text": "c", "label": ["d", "e"], "more": ["f"], "one": "g"})",
                     {.references = {"more", "one"}}),
            (Lines{"c|d|e|f|g@1"}));
  refuse_pairs("x.jsonl", R"({"text": "c", "label": []})",
               {"x.jsonl:1", "list \"label\" is empty"});
  refuse_pairs("x.jsonl", R"({"text": "c", "label": ["a", 1]})",
               {"x.jsonl:1", "a value in the list \"label\"", "number"});
  refuse_pairs("x.jsonl", R"({"text": "c", "label": 3})",
               {"x.jsonl:1", "\"label\"", "not a string"});
  refuse_pairs("x.jsonl", R"({"text": "c", "lable": "d"})",
               {"x.jsonl:1", "no key \"label\"", "lable"});
}

TEST(TextPairs, KeepBytesThatAreNoTextAndReadThroughCompressions) {
  EXPECT_EQ(pairs_in("x.tsv", "a\xFF\tb\xFE\n", {.text = "1", .label = "2"}),
            (Lines{"a\xFF|b\xFE@1"}));
  EXPECT_EQ(pairs_in("x.tsv.gz", packed("gzip", "text\tlabel\na\tb\n")), (Lines{"a|b@2"}));
}

TEST(TextPairs, AnEmptySideIsRefusedOrLeftOutAndCounted) {
  const std::string text = "text\tlabel\na\tb\n\tc\nd\t \ne\tf\n";
  refuse_pairs("x.tsv", text, {"x.tsv:3", "the source is empty", "data.bad_records=N"});
  refuse_pairs("x.tsv", text, {"x.tsv:4", "the target is empty"}, {.bad_records = 1});
  EXPECT_EQ(pairs_in("x.tsv", text, {.bad_records = 2}), (Lines{"a|b@2", "e|f@5"}));
  refuse_pairs("x.tsv", "text\tlabel\n\tb\n", {"x.tsv", "no pair that can be used"},
               {.bad_records = 9});
}

TEST(TextPairs, NeedColumnsThatAreThereAndApart) {
  const std::string text = "en\tde\na\tb\n";
  refuse_pairs("x.tsv", text, {"x.tsv:1", "no column \"text\"", "en, de"});
  refuse_pairs("x.tsv", text, {"the text and the label are both \"en\""},
               {.text = "en", .label = "en"});
  refuse_pairs("x.tsv", text, {"no column of targets", "task.label"}, {.label = ""});
  refuse_pairs("x.tsv", text, {"x.tsv", "same column"}, {.text = "en", .label = "1"});
  refuse_pairs("x.tsv", text, {"\"de\"", "something else already"},
               {.text = "en", .label = "de", .references = {"de"}});
  refuse_pairs("x.tsv", text, {"reference \"2\"", "used already"},
               {.text = "en", .label = "de", .references = {"2"}});
  refuse_pairs("x.tsv", "text\tlabel\na\tb\tc\n", {"x.tsv:2", "3 fields", "2: text, label"});
  refuse_pairs("x.txt", "a\tb\n", {"x.txt", "task.format"});
  expect_error(ExitCode::usage, {"no file with pairs"}, [] { read_pairs({}); });
}

// Two files side by side.
class LinePairs : public testing::Test {
 protected:
  PairsConfig config(const std::string& sources, const std::string& targets) {
    write_file(scratch_.file("a.en"), sources);
    write_file(scratch_.file("a.de"), targets);
    return {.files = {scratch_.file("a.en")}, .targets = {scratch_.file("a.de")}};
  }
  Scratch scratch_;
};

TEST_F(LinePairs, AreReadLineByLine) {
  EXPECT_EQ(summary(read_pairs(config("one\ntwo\tx\r\n", "eins\n\"zwei\""))),
            (Lines{"one|eins@1", "two\tx|\"zwei\"@2"}));
  PairsConfig two = config("one\n", "eins\n");
  two.files.push_back(two.files[0]);
  two.targets.push_back(two.targets[0]);
  const auto pairs = read_pairs(two);
  EXPECT_EQ(summary(pairs), (Lines{"one|eins@1", "one|eins@1"}));
  EXPECT_EQ(pairs[1].file, 1);
}

TEST_F(LinePairs, OfUnequalCountsAreRefusedWithBoth) {
  for (const bool sources : {true, false}) {
    const std::string three = "1\n2\n3\n", five = "1\n2\n3\n4\n5\n";
    expect_error(ExitCode::usage,
                 {sources ? "a.en has 5 lines" : "a.en has 3 lines",
                  sources ? "a.de has 3" : "a.de has 5", "line by line"},
                 [&] { read_pairs(sources ? config(five, three) : config(three, five)); });
  }
  expect_error(ExitCode::usage, {"a.en has 0 lines", "a.de has 1"},
               [&] { read_pairs(config("", "1\n")); });
}

TEST_F(LinePairs, NeedAFileForEachSide) {
  PairsConfig pairs = config("1\n", "1\n");
  pairs.targets.push_back(pairs.targets[0]);
  expect_error(ExitCode::usage, {"1 files of sources and 2 of targets"},
               [&] { read_pairs(pairs); });
  pairs.targets = pairs.files;
  expect_error(ExitCode::usage, {"a.en", "different files"}, [&] { read_pairs(pairs); });
  pairs = config("1\n\n", "1\n2\n");
  expect_error(ExitCode::usage, {"a.en:2", "the source is empty"}, [&] { read_pairs(pairs); });
  pairs.references = {"3"};
  expect_error(ExitCode::usage, {"task.references"}, [&] { read_pairs(pairs); });
}

TEST(TextPairs, TellHowMuchOfTheFilesTheyHaveRead) {
  const Scratch scratch;
  write_file(scratch.file("a.tsv"), "a\tb\n");
  write_file(scratch.file("b.tsv"), "c\td\n");
  PairReader reader(
      {.files = {scratch.file("a.tsv"), scratch.file("b.tsv")}, .text = "1", .label = "2"});
  EXPECT_EQ(reader.bytes_read(), 0);
  TextPair pair;
  EXPECT_TRUE(reader.next(pair));
  EXPECT_EQ(reader.bytes_read(), 4);
  EXPECT_TRUE(reader.next(pair));
  EXPECT_EQ(pair.file, 1);
  EXPECT_FALSE(reader.next(pair));
  EXPECT_FALSE(reader.next(pair));
  EXPECT_EQ(reader.bytes_read(), 8);
}

}  // namespace
}  // namespace skein::data
