// Stores of stories, and batches of them.
#include "skein/data/stories/story_store.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "skein/data/columns/record_sink.h"
#include "skein/data/stories/story_samples.h"

#include "data/stories/story_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Words = std::vector<std::string>;
using Numbers = std::vector<int64_t>;
using Ids = std::vector<int32_t>;

class StoryStores : public testing::Test {
 protected:
  StoryStoreConfig config(const std::string& text = kTwoStories) const {
    write_file(scratch_.file("qa1_train.txt"), text);
    return {.files = {.inputs = {scratch_.file("qa1_train.txt")}},
            .output = scratch_.file("stories.h5"),
            .replace = true};
  }
  StoryRecords opened(const std::string& name = "stories.h5") const {
    return StoryRecords(std::make_shared<const Records>(scratch_.file(name), true));
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(scratch_.file(name));
    std::ostringstream made;
    made << file.rdbuf();
    return made.str();
  }
  StoryBlend blend() const {
    StoryBlend made;
    made.parts.push_back(opened());
    made.weights = {1};
    return made;
  }

  Scratch scratch_;
};

Ids ids(const Tensor& row) {
  const auto span = row.span<int32_t>();
  return {span.begin(), span.end()};
}

TEST_F(StoryStores, HaveAQuestionARecord) {
  const StoryCounts made = write_stories(config());
  EXPECT_EQ(made.stories, 2);
  EXPECT_EQ(made.questions, 3);
  EXPECT_EQ(made.tasks, 1);
  const StoryRecords records = opened();
  EXPECT_TRUE(holds_stories(records.records()));
  EXPECT_EQ(records.vocabulary().front(), kUnknownWord);
  EXPECT_EQ(made.words, std::ssize(records.vocabulary()) - 1);
  EXPECT_EQ(records.tasks(), Words{"qa1"});
  const StoryRecord second = records.record(1);
  EXPECT_EQ(second.starts, (Numbers{0, 5, 10, 16, 20}));
  EXPECT_EQ(second.sentences(), 3);
  EXPECT_EQ(second.support, (Numbers{0, 2}));
  EXPECT_EQ(records.vocabulary()[second.answer], "apple,milk");
  EXPECT_EQ(records.vocabulary()[second.words[15]], "milk");
  EXPECT_EQ(records.record(2).sentences(), 1);
}

TEST_F(StoryStores, KnowTheWordsOfAGivenVocabulary) {
  write_stories(config());
  std::filesystem::rename(scratch_.file("stories.h5"), scratch_.file("first.h5"));
  StoryStoreConfig other = config("1 Mary flew to the bathroom.\n2 Where is Mary?\tmoon\t1\n");
  other.vocabulary = scratch_.file("first.h5");
  const StoryCounts made = write_stories(other);
  EXPECT_EQ(made.unknown_words, 1);
  EXPECT_EQ(made.unknown_answers, 1);
  EXPECT_EQ(opened().vocabulary(), opened("first.h5").vocabulary());
  EXPECT_EQ(opened().record(0).answer, 0);
  EXPECT_EQ(opened().record(0).words[1], 0);
  write_file(scratch_.file("words.txt"), "the\nmary\n");
  other.vocabulary = scratch_.file("words.txt");
  write_stories(other);
  EXPECT_EQ(opened().vocabulary(), (Words{kUnknownWord, "the", "mary"}));
  write_file(scratch_.file("words.txt"), "the\nmary\nthe\n");
  expect_error(ExitCode::usage, {"words.txt:3: \"the\" is there twice"},
               [&] { write_stories(other); });
  write_file(scratch_.file("words.txt"), "the\n\n");
  expect_error(ExitCode::usage, {"words.txt:2: a word belongs on each line"},
               [&] { write_stories(other); });
}

TEST_F(StoryStores, AreHeldOutByStory) {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += fmt::format("1 Word{} came.\n2 Who?\tword{}\t1\n3 Who?\tword{}\n", i, i, i);
  StoryStoreConfig c = config(text);
  c.validation = scratch_.file("held.h5");
  c.validation_fraction = 0.3;
  const StoryCounts made = write_stories(c);
  EXPECT_EQ(made.questions + made.held_out, 120);
  EXPECT_GT(made.held_out, 10);
  std::set<int32_t> learnt, held;
  const StoryRecords first = opened(), second = opened("held.h5");
  EXPECT_EQ(first.vocabulary(), second.vocabulary());
  for (int64_t i = 0; i < first.count(); ++i) learnt.insert(first.record(i).answer);
  for (int64_t i = 0; i < second.count(); ++i) held.insert(second.record(i).answer);
  for (const int32_t answer : held) EXPECT_FALSE(learnt.contains(answer));
  c.validation_fraction = 0;
  expect_error(ExitCode::usage, {"stories.validation_fraction=0 and output.validation="},
               [&] { write_stories(c); });
  c.validation_fraction = 1;
  expect_error(ExitCode::usage, {"stories.validation_fraction=1 must be at least 0 and below 1"},
               [&] { write_stories(c); });
  c.validation_fraction = 1e-9;
  expect_error(ExitCode::usage, {"leaves 120 questions to learn and 0 to be judged by"},
               [&] { write_stories(c); });
}

TEST_F(StoryStores, AreWrittenAsTexts) {
  StoryStoreConfig c = config();
  c.form = StoryForm::text;
  c.output = scratch_.file("stories.tsv");
  write_stories(c);
  EXPECT_EQ(
      text_of("stories.tsv"),
      "text\tlabel\ttask\n"
      "mary moved to the bathroom . john went to the hallway . where is mary ?\tbathroom\tqa1\n"
      "mary moved to the bathroom . john went to the hallway . mary took the apple john's milk "
      ". what is mary carrying ?\tapple,milk\tqa1\n"
      "it rains . what now ?\tyes\tqa1\n");
  c.vocabulary = "words.txt";
  expect_error(ExitCode::usage, {"stories.vocabulary=words.txt is for stores"},
               [&] { write_stories(c); });
}

TEST_F(StoryStores, DamagedOnesAreRefused) {
  write_stories(config());
  const Words words = opened().vocabulary();
  const auto refused = [&](std::vector<uint32_t> starts, std::vector<uint32_t> support,
                           const Words& answers, const std::string& why) {
    const ColumnInfo numbers{.name = "sentence_starts",
                             .meaning = PlainMeaning{},
                             .ragged = true,
                             .type = {Hdf5Type::Kind::integer, 4, false},
                             .row_shape = {}};
    ColumnInfo supports = numbers;
    supports.name = "support";
    RecordBuilder builder("damaged",
                          {category_column("answer", answers), numbers, supports,
                           category_column("task", {"one"}), category_column("word", words, true)});
    builder.add_category(0, 1);
    builder.add_rows(1, std::as_bytes(std::span(starts)));
    builder.add_rows(2, std::as_bytes(std::span(support)));
    builder.add_category(3, 0);
    for (int i = 0; i < 4; ++i) builder.add_category(4, 1);
    builder.end_record();
    const auto records = std::make_shared<const Records>(builder.finish());
    expect_error(ExitCode::usage, {why}, [&] { StoryRecords(records).record(0); });
  };
  for (const auto& starts : std::vector<std::vector<uint32_t>>{
           {}, {4}, {1, 2, 4}, {0, 3, 3, 4}, {0, 3, 2, 4}, {0, 2, 5}, {0, 2, 3}})
    refused(starts, {}, words, "damaged is damaged: the sentences of record 0");
  refused({0, 2, 4}, {1}, words, "its support is none of them");
  refused({0, 2, 4}, {}, {"a", "b"}, "its answers have other names than its words");
}

TEST_F(StoryStores, BecomeBatches) {
  write_stories(config());
  const StorySamples samples(blend(), {.memories = 2, .order = OrderKind::once});
  EXPECT_EQ(samples.samples_per_epoch(), 3);
  EXPECT_EQ(samples.length(), 15);  // the second question, without its first sentence
  const Batch batch = samples.batch(0, 3);
  EXPECT_EQ(ids(batch.segments.rows(1, 2)), (Ids{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(ids(batch.segments.rows(2, 3)),
            (Ids{0, 0, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(ids(batch.lengths), (Ids{13, 15, 4}));
  EXPECT_EQ(ids(batch.places), (Ids{12, 14, 3}));
  const StoryRecords records = opened();
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_EQ(batch.targets.data<int32_t>()[i], records.record(i).answer);
  const StoryRecord second = records.record(1);
  EXPECT_EQ(ids(batch.tokens.rows(1, 2)), Ids(second.words.begin() + 5, second.words.end()));
}

// Weights count also where nothing is shuffled, but for judging.
TEST_F(StoryStores, AreBlendedByWeightInTheirOwnOrder) {
  write_stories(config());
  const auto parts_of = [&](OrderKind order) {
    const StoryBlend two{{opened(), opened()}, {1, 3}};
    const StorySamples samples(two, {.order = order});
    std::vector<int64_t> made;
    for (int64_t i = 0; i < 6; ++i)
      made.push_back(samples.record(i).part == &samples.blend().parts[1]);
    return made;
  };
  EXPECT_EQ(parts_of(OrderKind::blended), (std::vector<int64_t>{1, 0, 1, 1, 1, 0}));
  EXPECT_EQ(parts_of(OrderKind::once), (std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
}

// Which moments are empty differs between passes, and by nothing else.
TEST_F(StoryStores, MomentsWithoutASentenceAreDrawn) {
  write_stories(config());
  const StorySampleConfig c{.memories = 50, .empty = 1, .seed = 3, .order = OrderKind::once};
  const StorySamples samples(blend(), c), again(blend(), c);
  std::set<Ids> seen;
  for (int64_t i = 1; i < 600; i += 3) {
    const Batch one = samples.batch(i, 1);
    EXPECT_EQ(ids(one.segments), ids(again.batch(i - 1, 3).segments.rows(1, 2)));
    Ids numbers = ids(one.segments);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    if (numbers.back() < 0) numbers.pop_back();
    ASSERT_EQ(numbers.size(), 4u);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    EXPECT_LE(numbers.back(), 6);
    seen.insert(numbers);
  }
  EXPECT_TRUE(seen.contains({0, 1, 2, 3}));
  EXPECT_TRUE(seen.contains({0, 1, 2, 4})) << "one is missing before the question";
  EXPECT_TRUE(seen.contains({1, 2, 3, 4}));
  EXPECT_GT(seen.size(), 15u);
  // There is no room for them.
  const StorySamples full(blend(), {.memories = 3, .empty = 1, .order = OrderKind::once});
  for (int64_t i = 1; i < 60; i += 3) EXPECT_EQ(full.batch(i, 1).segments.span<int32_t>()[19], 3);
}

}  // namespace
}  // namespace skein::data
