// Texts that rank 0 reads and all ranks are told.
#include "skein/train/tasks/text_input.h"

#include <gtest/gtest.h>

#include "skein/comm/local.h"

#include "data/data_fixtures.h"

namespace skein::train {
namespace {

using namespace test;

// On each of two ranks, part by part.
std::vector<std::vector<size_t>> parts_of(const std::string& path, const LabelColumns& columns,
                                          bool pairs,
                                          std::vector<std::vector<data::LabelledExample>>& all) {
  std::vector<std::vector<size_t>> sizes(2);
  all.assign(2, {});
  run_ranks(2, [&](Group& world) {
    const auto rank = static_cast<size_t>(world.rank());
    TextInput input(path, columns, pairs);
    for (auto part = input.next(2, world); !part.empty(); part = input.next(2, world)) {
      sizes[rank].push_back(part.size());
      for (data::LabelledExample& example : part) all[rank].push_back(std::move(example));
    }
  });
  return sizes;
}

TEST(TextInput, TellsEveryRankTheLinesOfAText) {
  const Scratch scratch;
  write_file(scratch.file("a.txt"), "one\n\nthree\r\n\xff four\nfive");
  std::vector<std::vector<data::LabelledExample>> all;
  const auto sizes = parts_of(scratch.file("a.txt"), {}, false, all);
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(sizes[rank], (std::vector<size_t>{2, 2, 1})) << rank;
    std::vector<std::string> texts;
    for (const data::LabelledExample& example : all[rank]) texts.push_back(example.text);
    EXPECT_EQ(texts, (std::vector<std::string>{"one", "", "three", "\xff four", "five"})) << rank;
  }
}

TEST(TextInput, TakesColumnsOfTables) {
  const Scratch scratch;
  write_file(scratch.file("a.tsv"), "a\tb\tno\nc\td\tyes\n");
  LabelColumns columns;
  columns.text = "2";
  columns.pair = "1";
  std::vector<std::vector<data::LabelledExample>> all;
  parts_of(scratch.file("a.tsv"), columns, true, all);
  for (const auto& found : all) {
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].text, "b");
    EXPECT_EQ(found[0].pair, "a");
    EXPECT_EQ(found[1].text, "d");
  }
  parts_of(scratch.file("a.tsv"), columns, false, all);
  EXPECT_EQ(all[1].at(1).pair, "") << "of single texts";
}

TEST(TextInput, RefusesPairsThatAreNoneOnEveryRank) {
  const Scratch scratch;
  write_file(scratch.file("a.txt"), "one\n");
  std::vector<std::vector<data::LabelledExample>> all;
  expect_error(ExitCode::usage,
               {"data.input=" + scratch.file("a.txt") +
                ": the model judges pairs, which a text a line does not hold"},
               [&] { parts_of(scratch.file("a.txt"), {}, true, all); });
}

TEST(SentenceInput, TellsEveryRankTheWords) {
  const Scratch scratch;
  write_file(scratch.file("a.conll"), "Anna B-PER\nruns O\n\nRome B-LOC\n");
  std::vector<std::vector<data::TaggedSentence>> all(2);
  run_ranks(2, [&](Group& world) {
    SentenceInput input(scratch.file("a.conll"), {});
    auto& found = all[static_cast<size_t>(world.rank())];
    found = input.next(8, world);
    EXPECT_TRUE(input.next(8, world).empty());
  });
  for (const auto& found : all) {
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].words, (std::vector<std::string>{"Anna", "runs"}));
    EXPECT_EQ(found[1].words, (std::vector<std::string>{"Rome"}));
  }
  EXPECT_EQ(all[0][0].rows.size(), 2u) << "as they were read, to be written again";
  EXPECT_TRUE(all[1][0].rows.empty());
}

}  // namespace
}  // namespace skein::train
