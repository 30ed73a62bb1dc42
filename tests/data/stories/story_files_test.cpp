// Stories as they are read, and what is refused of them.
#include "skein/data/stories/story_files.h"

#include <filesystem>

#include "data/stories/story_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Words = std::vector<std::string>;
using Numbers = std::vector<int64_t>;

TEST(StoryFiles, LinesBecomeSentencesAndQuestions) {
  const std::vector<Story> stories = stories_of(kTwoStories);
  ASSERT_EQ(stories.size(), 2u);
  EXPECT_EQ(stories[0].task, "qa1_facts");
  EXPECT_EQ(stories[0].sentences[0], (Words{"mary", "moved", "to", "the", "bathroom"}));
  EXPECT_EQ(stories[0].sentences[2], (Words{"mary", "took", "the", "apple", "john's", "milk"}));
  ASSERT_EQ(stories[0].questions.size(), 2u);
  const StoryQuestion &first = stories[0].questions[0], &second = stories[0].questions[1];
  EXPECT_EQ(first.sentences, 2);
  EXPECT_EQ(first.words, (Words{"where", "is", "mary"}));
  EXPECT_EQ(first.answer, "bathroom");
  EXPECT_EQ(first.support, Numbers{0});
  EXPECT_EQ(second.sentences, 3);
  EXPECT_EQ(second.answer, "apple,milk");
  EXPECT_EQ(second.support, (Numbers{0, 2}));
  EXPECT_EQ(stories[1].sentences.size(), 1u);
  EXPECT_TRUE(stories[1].questions[0].support.empty());
}

TEST(StoryFiles, NamesSayTheTask) {
  EXPECT_EQ(stories_of(kTwoStories, "qa3_x_test.txt").front().task, "qa3_x");
  EXPECT_EQ(stories_of(kTwoStories, "plain").front().task, "plain");
  EXPECT_EQ(stories_of(kTwoStories, "_valid.txt").front().task, "_valid");
}

TEST(StoryFiles, FoldersAreReadByPart) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.file("en"));
  for (const char* name : {"en/b_train.txt", "en/a_train.txt", "en/a_test.txt"})
    write_file(scratch.file(name), kTwoStories);
  write_file(scratch.file("en/README.txt"), "No story.\n");
  const auto tasks = [&](const std::string& part) {
    Words made;
    for (const Story& story : read_stories({.inputs = {scratch.file("en")}, .part = part}))
      made.push_back(story.task);
    return made;
  };
  EXPECT_EQ(tasks("_train"), (Words{"a", "a", "b", "b"}));
  EXPECT_EQ(tasks("_test"), (Words{"a", "a"}));
  expect_error(ExitCode::usage, {"en: none of 4 files has \"_dev\" (stories.part) in its name"},
               [&] { tasks("_dev"); });
  expect_error(ExitCode::usage, {"README.txt:1: the line begins with \"No\""}, [&] { tasks(""); });
}

void expect_refused(const std::string& text, const std::string& words) {
  expect_error(ExitCode::usage, {words}, [&] { stories_of(text); });
}

TEST(StoryFiles, RefusesWhatIsNoStory) {
  expect_refused("Mary went.\n",
                 "train.txt:1: the line begins with \"Mary\"; a number from 1 to "
                 "1000000 and a blank belong there");
  expect_refused("0 Mary went.\n", "begins with \"0\"");
  expect_refused("1 A.\n99999999999999999999 B.\n",
                 "train.txt:2: the line begins with \"99999999999999999999\"");
  expect_refused("1000001 A.\n", "a number from 1 to 1000000");
  expect_refused("2 Mary went.\n",
                 "train.txt:1: the first line of a story has the number 2; it must be 1");
  expect_refused("1 A.\n2 B.\n2 C.\n", "train.txt:3: number 2 follows on 2; numbers rise");
  expect_refused("1 A.\n2 ...\n", "train.txt:2: a sentence without a word: \" ...\"");
  expect_refused("1\n", "train.txt:1: a sentence without a word");
  expect_refused("1 A.\n2 ?\tyes\t1\n", "train.txt:2: a question without a word");
  expect_refused("1 A.\n2 Who?\t \t1\n", "train.txt:2: the question has no answer");
  expect_refused("1 A.\n2 Who?\ta\t1\t1\n", "train.txt:2: the line has 3 tabs");
  for (const char* later : {"3", "2", "0", "-1", "one", "7"})
    expect_refused(std::string("1 A.\n2 Who?\ta\t") + later + "\n3 B.\n",
                   std::string("train.txt:2: the answer is said to follow from \"") + later +
                       "\", which is the number of no sentence of this story before the question");
  expect_refused("1 A.\n2 Who?\ta\t1\n1 B.\n2 C.\n3 Who?\ta\t1 5\n", "follow from \"5\"");
  expect_refused("1 A.\n2 B.\n", "train.txt has no question");
  expect_refused("", "train.txt has no question");
  expect_refused("1 \xFF\xFE.\n", "not valid UTF-8");
  expect_refused("1 " + std::string(70000, 'a') + "\n", "the line is longer than 65536 bytes");
  std::string many;
  for (int i = 1; i <= 4097; ++i) many += std::to_string(i) + " A.\n";
  expect_refused(many, "train.txt:4097: the story has more than 4096 sentences");
}

}  // namespace
}  // namespace skein::data
