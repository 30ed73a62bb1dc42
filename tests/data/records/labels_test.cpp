#include "skein/data/records/labels.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

LabelledExample example(const std::string& label, int64_t line) {
  return {.label = label, .line = line};
}

TEST(Labels, DistinctInByteOrder) {
  const LabelSet labels = labels_of(
      {example("b", 1), example("a", 2), example("B", 3), example("\u00e9", 4), example("b", 5)});
  EXPECT_EQ(labels.names(), (Lines{"B", "a", "b", "\u00e9"}));
  EXPECT_EQ(labels.find("b"), 2);
  EXPECT_EQ(labels.name(0), "B");
  EXPECT_EQ(labels.find("c"), -1);
  TaggedSentence sentence;
  sentence.tags = {"O", "B-PER", "O"};
  EXPECT_EQ(labels_of(std::vector<TaggedSentence>{sentence}).names(), (Lines{"B-PER", "O"}));
}

TEST(Labels, GivenOnesKeepTheirOrder) {
  EXPECT_EQ(LabelSet({"yes", "no"}).find("no"), 1);
  expect_error(ExitCode::usage, {"\"a\"", "twice", "1 and 3"}, [] { LabelSet({"a", "b", "a"}); });
  expect_error(ExitCode::usage, {"label 2 of 2 is empty"}, [] { LabelSet({"a", ""}); });
  expect_error(ExitCode::usage, {"label 2 of 2", "UTF-8"}, [] { LabelSet({"a", "\xFF"}); });
  expect_error(ExitCode::usage, {"at least one"}, [] { LabelSet(Lines{}); });
}

TEST(Labels, UnknownOnesNameLineAndNearest) {
  const LabelSet labels({"card_arrival", "card_linking"});
  const ExamplesConfig config{.files = {"dev.csv"}};
  EXPECT_EQ(label_ids(labels, {example("card_linking", 2), example("card_arrival", 3)}, config),
            (std::vector<int32_t>{1, 0}));
  expect_error(ExitCode::usage,
               {"dev.csv:7", "\"card_arival\"", "2 known", "did you mean \"card_arrival\""},
               [&] { label_ids(labels, {example("card_arival", 7)}, config); });
  expect_error(ExitCode::usage, {"dev.csv:8", "card_arrival, card_linking"},
               [&] { label_ids(labels, {example(std::string(1 << 20, 'x'), 8)}, config); });
}

TEST(Labels, UnknownTagsNameTheirLine) {
  const LabelSet labels({"O", "B-PER"});
  const ConllConfig config{.files = {"dev.conll"}};
  TaggedSentence sentence;
  sentence.tags = {"B-PER", "O"};
  sentence.lines = {4, 5};
  EXPECT_EQ(tag_ids(labels, sentence, config), (std::vector<int32_t>{1, 0}));
  sentence.tags = {"O", "I-PER"};
  expect_error(ExitCode::usage, {"dev.conll:5", "\"I-PER\"", "did you mean \"B-PER\""},
               [&] { tag_ids(labels, sentence, config); });
}

}  // namespace
}  // namespace skein::data
