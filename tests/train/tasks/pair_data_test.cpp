// Pairs as a model is fed them and judged by them, of files and of stores.
#include "skein/train/tasks/pair_data.h"

#include <fstream>
#include <gtest/gtest.h>

#include "train/train_fixture.h"

namespace skein::train {
namespace {

const std::shared_ptr<const text::Tokenizer>& bytes() {
  static const std::shared_ptr<const text::Tokenizer> tokenizer = text::byte_tokenizer();
  return tokenizer;
}

class PairData : public testing::Test {
 protected:
  // Pairs "s0" to "t0", "s1" to "t1", ..., with a second reference.
  std::string file(const std::string& name, int first, int count) const {
    std::ofstream out(folder_.file(name));
    out << "text\tlabel\tother\n";
    for (int i = first; i < first + count; ++i) out << 's' << i << "\tt" << i << "\tu" << i << '\n';
    return folder_.file(name);
  }
  PairReading reading() const {
    return {.pairs = {.references = {"other"}, .prefix = "to: "},
            .tokenizers = {bytes(), bytes()},
            .form = data::pair_form(*bytes(), *bytes()),
            .sides = {.source_length = 16, .target_length = 8},
            .order = {.multiple = 4}};
  }

  test::Scratch folder_;
};

TEST_F(PairData, WantedTextsAreThoseOfTheFileAndPromptsHaveTheirMarks) {
  const HeldOutPairs pairs({file("a.tsv", 0, 3)}, reading());
  const WantedTexts all = pairs.texts(0);
  ASSERT_EQ(all.prompts.size(), 3u);
  EXPECT_EQ(all.sources, (std::vector<std::string>{"to: s0", "to: s1", "to: s2"}));
  EXPECT_EQ(all.references[1], (std::vector<std::string>{"t1", "u1"}));
  EXPECT_EQ(all.references_each(), 2);
  generate::Tokens expected = bytes()->encode("to: s1");
  expected.push_back(bytes()->end_of_text());
  EXPECT_EQ(all.prompts[1], expected);
}

TEST_F(PairData, SomeTextsAreEvenlySpreadOverAllFiles) {
  const HeldOutPairs pairs({file("a.tsv", 0, 6), file("b.tsv", 6, 2), file("c.tsv", 8, 4)},
                           reading());
  EXPECT_EQ(pairs.count(), 12);
  EXPECT_EQ(pairs.texts(4).sources,
            (std::vector<std::string>{"to: s0", "to: s3", "to: s6", "to: s9"}));
  EXPECT_EQ(pairs.texts(1).sources, std::vector<std::string>{"to: s0"});
  EXPECT_EQ(pairs.texts(12).sources.back(), "to: s11");
  EXPECT_EQ(pairs.texts(1000).sources.size(), 12u);
}

TEST_F(PairData, OfAStoreTextsAreWhatItsTokensSay) {
  PairReading how = reading();
  how.pairs.references.clear();
  data::PairStoreConfig store{.pairs = how.pairs, .output = folder_.file("a.h5")};
  store.pairs.files = {file("a.tsv", 0, 3)};
  write_pair_store(store, how.tokenizers);
  const HeldOutPairs stored({folder_.file("a.h5")}, how), read({folder_.file("a.tsv")}, how);
  EXPECT_EQ(stored.texts(0).sources, read.texts(0).sources);
  EXPECT_EQ(stored.texts(0).prompts, read.texts(0).prompts);
  EXPECT_EQ(stored.texts(0).references, read.texts(0).references);
  EXPECT_EQ(stored.files("data.validation").size(), 1u);
}

TEST_F(PairData, LongSourcesAreCutForPromptsAndReferencesStayWhole) {
  PairReading how = reading();
  how.sides = {.source_length = 4, .target_length = 2, .longer = data::LongPairs::drop};
  how.pairs.prefix.clear();
  std::ofstream(folder_.file("long.tsv")) << "text\tlabel\tother\nabcdefgh\twxyz\tw\nab\tw\tw\n";
  const WantedTexts all = HeldOutPairs({folder_.file("long.tsv")}, how).texts(0);
  ASSERT_EQ(all.prompts.size(), 2u) << "what a loss leaves out is written all the same";
  EXPECT_EQ(all.prompts[0], (generate::Tokens{'a', 'b', 'c', bytes()->end_of_text()}));
  EXPECT_EQ(all.sources[0], "abcdefgh");
  EXPECT_EQ(all.references[0].front(), "wxyz");
}

TEST_F(PairData, TrainingSamplesAreOfAllFilesOfTheBlend) {
  PairReading how = reading();
  how.pairs.references.clear();
  const data::PairBlend blend =
      open_pairs({file("a.tsv", 0, 5), "2:" + file("b.tsv", 5, 3)}, how.pairs, how.tokenizers);
  const data::TwoSidedSamples samples = training_pairs(blend, how, 1, true);
  EXPECT_EQ(samples.samples_per_epoch(), 8);
  const data::Batch batch = samples.batch(0, 8);
  EXPECT_EQ(batch.source.length() % 4, 0);
  EXPECT_EQ(batch.size(), 8);
}

TEST_F(PairData, ColumnsAreThoseThatOtherRecordsAreReadBy) {
  LabelColumns columns;
  columns.text = "en";
  columns.label = "de";
  columns.format = data::ExamplesFormat::csv;
  columns.header = data::Header::yes;
  const data::PairsConfig made = with_columns({.prefix = "x"}, columns);
  EXPECT_EQ(made.text, "en");
  EXPECT_EQ(made.label, "de");
  EXPECT_EQ(made.format, data::ExamplesFormat::csv);
  EXPECT_EQ(made.header, data::Header::yes);
  EXPECT_EQ(made.prefix, "x");
}

}  // namespace
}  // namespace skein::train
