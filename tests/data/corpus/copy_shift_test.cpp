#include "skein/data/corpus/copy_shift.h"

#include <gtest/gtest.h>
#include <map>

#include "skein/data/records/text_pairs.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;

CopyShiftConfig config_for(const Scratch& scratch, int64_t words) {
  CopyShiftConfig made;
  made.words = words;
  made.output = scratch.file("pairs.tsv");
  return made;
}

std::vector<TextPair> pairs_in(const std::string& path) {
  PairsConfig config;
  config.files = {path};
  return read_pairs(config);
}

TEST(CopyShift, ShiftsByOneWord) {
  const Scratch scratch;
  write_file(scratch.file("text.txt"), "one two  three\nfour five six seven \"eight\" nine ten");
  const CopyShiftConfig config = config_for(scratch, 3);
  const CopyShiftCounts counts = write_copy_shift({scratch.file("text.txt")}, config);
  EXPECT_EQ(counts.pairs, 2);
  EXPECT_EQ(counts.words, 10);
  EXPECT_EQ(bytes_of_file(config.output),
            "text\tlabel\none two three\ttwo three four\nfive six seven\tsix seven \"eight\"\n");
  const auto pairs = pairs_in(config.output);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[1].target, "six seven \"eight\"");
}

TEST(CopyShift, StaysWithinDocuments) {
  const Scratch scratch;
  write_file(scratch.file("text.txt"), "a b c d e\n\nf g h i j\n");
  CopyShiftConfig config = config_for(scratch, 2);
  config.corpus.blank_lines = 1;
  write_copy_shift({scratch.file("text.txt")}, config);
  EXPECT_EQ(bytes_of_file(config.output), "text\tlabel\na b\tb c\nf g\tg h\n");
  config.pairs = 1;
  config.replace = true;
  EXPECT_EQ(write_copy_shift({scratch.file("text.txt")}, config).pairs, 1);
  EXPECT_EQ(bytes_of_file(config.output), "text\tlabel\na b\tb c\n");
}

TEST(CopyShift, DrawsWordsAsOftenAsTheTextHasThem) {
  const Scratch scratch;
  write_file(scratch.file("text.txt"), "c a b a a b c a a a");
  CopyShiftConfig config = config_for(scratch, 9);
  config.order = WordOrder::drawn;
  config.pairs = 2000;
  config.replace = true;
  write_copy_shift({scratch.file("text.txt")}, config);
  const std::string first = bytes_of_file(config.output);
  std::map<char, double> shares;
  for (const TextPair& pair : pairs_in(config.output)) {
    ASSERT_EQ(pair.source.substr(2), pair.target.substr(0, 15));
    for (size_t i = 0; i < pair.source.size(); i += 2) shares[pair.source[i]] += 1.0 / 18000;
  }
  for (const auto& [word, share] : {std::pair{'a', 0.6}, {'b', 0.2}, {'c', 0.2}})
    EXPECT_NEAR(shares[word], share, 4 * std::sqrt(share * (1 - share) / 18000)) << word;
  write_copy_shift({scratch.file("text.txt")}, config);
  EXPECT_EQ(bytes_of_file(config.output), first);
  config.seed = 2;
  write_copy_shift({scratch.file("text.txt")}, config);
  EXPECT_NE(bytes_of_file(config.output), first);
}

TEST(CopyShift, RefusesWhatCannotBe) {
  const Scratch scratch;
  write_file(scratch.file("text.txt"), "a b c");
  const auto refused = [&](const CopyShiftConfig& config) {
    return refusal_of([&] { write_copy_shift({scratch.file("text.txt")}, config); });
  };
  EXPECT_EQ(refused(config_for(scratch, 3)),
            "the text has 3 words, which make 0 pairs of 3 words and the one behind them, not "
            "copy.pairs=1; give more text, or fewer");
  EXPECT_EQ(refused(config_for(scratch, 1)), "copy.words=1; it is 2 to 1048576");
  CopyShiftConfig drawn = config_for(scratch, 2);
  drawn.order = WordOrder::drawn;
  EXPECT_EQ(refused(drawn),
            "copy.order=drawn makes as many pairs as it is asked for; give copy.pairs");
  EXPECT_EQ(scratch.entries(), 1) << "something is left behind";
}

}  // namespace
}  // namespace skein::data
