#include "skein/checkpoint/directory.h"

#include "scenario.h"
#include "support/size_limit.h"

namespace skein::checkpoint {
namespace {

using namespace scenario;

TEST(CheckpointNames, AreReadBackExactly) {
  const CheckpointName name{3, 100};
  EXPECT_EQ(name.text(), "step-00000100.g000003");
  EXPECT_EQ(CheckpointName::parse(name.text()), name);
  const CheckpointName large{1234567, 123456789012};
  EXPECT_EQ(CheckpointName::parse(large.text()), large);
  for (const char* text :
       {"", "step-1.g1", "step-00000100", "step-00000100.g000003x", "step--0000100.g000003",
        "step-000000100.g000003", "tmp-step-00000100.g000003"})
    EXPECT_FALSE(CheckpointName::parse(text).has_value()) << text;
}

TEST(Generations, CountUp) {
  const test::Scratch directory;
  EXPECT_EQ(latest_generation(directory.path()), 0);
  EXPECT_EQ(start_generation(directory.path(), 1), 1);
  EXPECT_EQ(start_generation(directory.path(), 1), 2);
  EXPECT_TRUE(std::filesystem::exists(directory.file("generation-000002")));
  std::filesystem::create_directory(directory.file("step-00000001.g000007"));
  EXPECT_EQ(start_generation(directory.path(), 1), 8);
}

// One above the largest number there is would be no number.
TEST(Generations, AreNotCountedFromNamesThatNobodyGives) {
  const test::Scratch directory;
  for (const char* name : {"generation-9223372036854775807", "generation-9223372036854775806",
                           "generation-1000000000001"})
    write(directory.file(name), "{}");
  std::filesystem::create_directory(directory.file("step-00000001.g9223372036854775807"));
  std::filesystem::create_directory(directory.file("step-9223372036854775807.g000001"));
  EXPECT_EQ(latest_generation(directory.path()), 0);
  EXPECT_TRUE(committed_checkpoints(directory.path()).empty());
  EXPECT_EQ(start_generation(directory.path(), 1), 1);
}

TEST(Generations, NameTheCheckpointTheyStartFrom) {
  const test::Scratch directory;
  save(directory.path(), cases()[0], 30, 1);
  start_generation(directory.path(), 1);
  EXPECT_NE(test::bytes_of_file(directory.file("generation-000002")).find("step-00000030.g000001"),
            std::string::npos);
}

TEST(Generations, AnOlderProcessCannotCommit) {
  const test::Scratch directory;
  const auto alone = single_rank();
  const State state = filled_state(rows(), 1, 0, 1);
  CheckpointStore old_store(directory.path(), 5, *alone);
  old_store.save(10, state.pieces, "{}");
  CheckpointStore new_store(directory.path(), 5, *alone);
  expect_error(ExitCode::superseded, [&] { old_store.save(20, state.pieces, "{}"); },
               {"generation 2", "generation 1"});
  EXPECT_EQ(find_checkpoint(directory.path(), *alone)->step, 10);
  new_store.save(15, state.pieces, "{}");
  expect_error(ExitCode::superseded, [&] { old_store.save(30, state.pieces, "{}"); },
               {"generation 2"});
  const auto infos = list_checkpoints(directory.path());
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_EQ(infos[0].step, 15);
  EXPECT_EQ(infos[0].generation, 2);
  EXPECT_EQ(infos[1].step, 10);
}

TEST(Generations, ALateCommitOfAnOlderOneIsIgnored) {
  const test::Scratch directory;
  const std::string base = save(directory.path(), cases()[0], 10, 1);
  start_generation(directory.path(), 1);
  std::filesystem::copy(base, directory.file("step-00000040.g000001"));
  const auto names = committed_checkpoints(directory.path());
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].step, 10);
}

TEST(Generations, ALaterOneIsNewerWhateverItsStep) {
  const test::Scratch directory;
  save(directory.path(), cases()[0], 50, 1);
  save(directory.path(), cases()[0], 20, 2);
  expect_loads(directory.path(), cases()[0], 2, 20);
}

TEST(Generations, AFullDiskIsNoMistakeOfTheUser) {
  const test::Scratch directory;
  const SizeLimit limit(16);
  expect_error(ExitCode::failure, [&] { start_generation(directory.path(), 1); },
               {directory.path(), "File too large",
                "free some space there, or choose a folder that has more"});
  EXPECT_TRUE(names_in(directory.path()).empty());
}

TEST(Generations, AnEmptyFileFencesNothing) {
  const test::Scratch directory;
  save(directory.path(), cases()[0], 50, 1);
  write(directory.file("generation-000002"), "");
  EXPECT_EQ(committed_checkpoints(directory.path()).size(), 1u);
  EXPECT_EQ(start_generation(directory.path(), 1), 3);
}

TEST(Generations, LeftoversAreIgnoredAndCleared) {
  const test::Scratch directory;
  const std::string path = save(directory.path(), cases()[0], 10, 1);
  std::filesystem::copy(path, directory.file("tmp-step-00000090.g000001.0"));
  std::filesystem::copy(path, directory.file("trash-step-00000080.g000001"));
  std::filesystem::copy(path, directory.file("tmp-step-00000090.g000009.0"));
  write(directory.file("tmp-notes"), "mine");
  expect_loads(directory.path(), cases()[0], 1, 10);
  EXPECT_EQ(start_generation(directory.path(), 1), 2);
  EXPECT_FALSE(std::filesystem::exists(directory.file("tmp-step-00000090.g000001.0")));
  EXPECT_FALSE(std::filesystem::exists(directory.file("trash-step-00000080.g000001")));
  EXPECT_TRUE(std::filesystem::exists(directory.file("tmp-step-00000090.g000009.0")));
  EXPECT_TRUE(std::filesystem::exists(directory.file("tmp-notes")));
}

TEST(Generations, FilesGoOnceNoCommitNeedsThem) {
  const test::Scratch directory;
  const std::string base = save(directory.path(), cases()[0], 10, 1);
  for (int start = 0; start < 3; ++start) start_generation(directory.path(), 1);
  EXPECT_EQ(generation_numbers(directory.path()), std::vector<int64_t>{4})
      << "all of them began from the same commit";
  std::filesystem::copy(base, directory.file("step-00000040.g000001"));
  const std::string later = save(directory.path(), cases()[0], 20, 1);
  start_generation(directory.path(), 1);
  EXPECT_EQ(generation_numbers(directory.path()), (std::vector<int64_t>{5, 6}))
      << "only the fifth tells that step 40 came too late";
  EXPECT_EQ(committed_checkpoints(directory.path()).size(), 2u);
  std::filesystem::remove_all(base);
  std::filesystem::remove_all(directory.file("step-00000040.g000001"));
  start_generation(directory.path(), 1);
  EXPECT_EQ(generation_numbers(directory.path()), std::vector<int64_t>{7});
  expect_loads(later, cases()[0], 1, 20);
}

TEST(Generations, OfWhichNoneCanFollowAreAnError) {
  const test::Scratch directory;
  write(directory.file("generation-1000000000000"), "");
  expect_error(ExitCode::usage, [&] { start_generation(directory.path(), 1); },
               {"1000000000000", "none can follow"});
}

TEST(Publish, NeverOverwrites) {
  const test::Scratch directory;
  const std::string path = save(directory.path(), cases()[0], 10, 1);
  const std::string temporary = make_temporary(directory.path(), {1, 10});
  EXPECT_NE(temporary, make_temporary(directory.path(), {1, 10}));
  write(temporary + "/other", "x");
  expect_error(ExitCode::failure,
               [&] {
                 publish(temporary, directory.path(), {1, 10});
               },
               {"cannot rename"});
  EXPECT_TRUE(std::filesystem::exists(temporary));
  expect_loads(path, cases()[0], 1, 10);
}

}  // namespace
}  // namespace skein::checkpoint
