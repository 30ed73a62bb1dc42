// What goes wrong in a sweep: on all ranks, on one alone, on the disk, and between two starts.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "skein/checkpoint/checkpoint.h"

#include "scaling/sweep_fixture.h"
#include "support/expect_error.h"
#include "support/retry_waits.h"

namespace skein::scaling::sweep {
namespace {

constexpr const char* kLargest = "1x16-32x128-lr0.01-s1";

class SweepFailures : public testing::Test {
 protected:
  SweepFailures() {
    train::write_small_store(store_);
    std::filesystem::copy_file(store_, training_);
  }
  SweepConfig config(const std::string& dir) const {
    SweepConfig c = tiny_sweep(store_, at(dir));
    c.run.data.train = {training_};
    return c;
  }
  std::string at(const std::string& name) const { return folder_.file(name); }
  std::string cell(const std::string& dir, const std::string& file) const {
    return at(dir) + "/cells/" + kLargest + "/" + file;
  }
  void expect_whole(const std::string& dir) const {
    sweep_by(1, config("whole"));
    EXPECT_EQ(table_without_seconds(at(dir)), table_without_seconds(at("whole")));
  }

  // The store's token 2005, which is in one sample alone, becomes an id that its vocabulary does
  // not have.
  void damage_training() const {
    std::vector<int32_t> tokens(64);
    data::TokenStore(training_).read(1990, tokens);
    std::string whole = test::bytes_of_file(training_);
    const size_t begin = whole.find(std::string(tokens.begin(), tokens.end()));
    ASSERT_NE(begin, std::string::npos);
    whole[begin + 15] = static_cast<char>(200);
    std::ofstream(training_, std::ios::binary) << whole;
  }

  // Tokens as nanoGPT has them, which carry no sum, with `id` as token 2100. Of so many the
  // fingerprint is of blocks, and that token lies between the first two.
  void write_bare(const std::string& name, uint16_t id) const {
    std::vector<uint16_t> tokens(600'000);
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = static_cast<uint16_t>((7 * i + i % 3) % 64);
    tokens[2100] = id;
    std::ofstream(at(name + ".meta.json")) << R"({"vocab_size": 64})";
    std::ofstream(at(name + ".bin"), std::ios::binary)
        .write(reinterpret_cast<const char*>(tokens.data()),
               static_cast<std::streamsize>(tokens.size() * sizeof(uint16_t)));
  }
  // Of such tokens, in their order, so that cells of 4096 tokens see that one and those of 2048 do
  // not.
  SweepConfig bare_config(const std::string& dir) const {
    SweepConfig c = config(dir);
    write_bare("validation", 7);
    c.run.data.train = {at("training.bin")};
    c.run.data.validation = {at("validation.bin")};
    c.run.validation.eval.windows = 20;
    c.run.data.shuffle = false;
    return c;
  }

  // The cell has no result yet, and its newest checkpoint, or each, another byte in the middle of a
  // file.
  void damage(const std::string& dir, const std::string& file, bool each) const {
    std::filesystem::remove(cell(dir, "result.json"));
    const std::vector<checkpoint::CheckpointInfo> kept =
        checkpoint::list_checkpoints(cell(dir, "checkpoints"));
    ASSERT_GE(kept.size(), each ? 1u : 2u);
    for (size_t i = 0; i < (each ? kept.size() : 1); ++i) {
      const std::string path = kept[i].path + "/" + file;
      std::string whole = test::bytes_of_file(path);
      whole[whole.size() / 2] ^= 1;
      std::ofstream(path, std::ios::binary) << whole;
    }
  }

  test::Scratch folder_;
  std::string store_ = folder_.file("store.h5"), training_ = folder_.file("training.h5");
};

std::string failure_by(int ranks, const SweepConfig& config, ExitCode code = ExitCode::failure) {
  return test::error_text(code, [&] { sweep_by(ranks, config); });
}

// A sum that is wrong is no fault of a cell, and none is begun.
TEST_F(SweepFailures, OfTheDataEndTheJobBeforeTheFirstCell) {
  SweepConfig c = config("data");
  damage_training();
  test::expect_words(failure_by(2, c),
                     {training_, "is damaged: the XXH3 sum of its tokens is ", "copy it again"});
  EXPECT_FALSE(std::filesystem::exists(cell("data", "metrics.jsonl")));
  std::filesystem::copy_file(store_, training_, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(sweep_by(2, c).count("done"), 4);
  damage_training();
  EXPECT_EQ(sweep_by(2, c).count("done"), 4) << "nothing is left to learn from it";
}

TEST_F(SweepFailures, OfOneRankAmidACellEndTheJobAndMarkIt) {
  SweepConfig c = bare_config("alone");
  c.ranks_per_run = 2;
  write_bare("training", 200);
  test::expect_words(failure_by(2, c),
                     {kLargest, "on rank ", " alone: ", "token 2100 is 200", "Start it again"});
  const ScalingTable table = read_store(at("alone/results.h5"));
  ASSERT_EQ(table.runs.size(), 4u);
  EXPECT_EQ(table.runs[3].status, "failed");
  test::expect_words(table.runs[3].reason, {"on rank ", "token 2100 is 200"});
  EXPECT_EQ(table.runs[2].status, "unfinished");
  write_bare("training", 7);
  EXPECT_EQ(sweep_by(2, c).count("done"), 4);
  sweep_by(1, bare_config("whole"));
  EXPECT_EQ(table_without_seconds(at("alone")), table_without_seconds(at("whole")));
}

// Each rank has its own options here, so that one of them cannot begin.
TEST_F(SweepFailures, OfOneRankToOpenItsDataEndsAllBeforeTheFirstCell) {
  run_ranks(2, [&](Group& world) {
    SweepConfig c = config("begin");
    if (world.rank() == 1) c.run.model.vocab_size = 32;
    test::expect_error(ExitCode::usage, {"rank 1: model.vocab_size=32 is smaller than the 64 ids"},
                       [&] { run_sweep(c, world); });
  });
  EXPECT_FALSE(std::filesystem::exists(at("begin")));
}

TEST_F(SweepFailures, OfAllRanksHaveOneReason) {
  SweepConfig c = config("all");
  c.ranks_per_run = 2;
  c.run.run.log_every = 0;
  const SweepResult result = sweep_by(2, c);
  EXPECT_EQ(result.count("failed"), 4);
  EXPECT_EQ(result.runs[0].reason.find("run.log_every=0"), 0u) << result.runs[0].reason;
}

TEST_F(SweepFailures, OfWritingAResultEndTheJobAndNothingIsLost) {
  SweepConfig c = config("disk");
  c.ranks_per_run = 2;
  const std::filesystem::path nowhere = cell("disk", "result.json");
  std::filesystem::create_directories(nowhere.parent_path());
  std::filesystem::create_symlink("missing/result.json", nowhere);
  test::expect_words(failure_by(2, c), {"result.json"});
  std::filesystem::remove(nowhere);
  EXPECT_EQ(sweep_by(2, c).count("done"), 4);
  expect_whole("disk");
}

TEST_F(SweepFailures, OfTheTablesAreToldBeforeAnythingIsTrained) {
  std::filesystem::create_directories(at("tables/results.csv/x"));
  test::expect_words(failure_by(1, config("tables"), ExitCode::usage),
                     {"results.csv is a directory"});
  EXPECT_TRUE(std::filesystem::is_empty(at("tables/cells")));
}

TEST_F(SweepFailures, AreTriedAgainAfterAllOthers) {
  SweepConfig c = config("again");
  c.fail_fast = true;
  std::filesystem::create_directories(cell("again", "metrics.jsonl/x"));
  test::expect_words(failure_by(1, c), {kLargest, "sweep.fail_fast"});
  std::ofstream(at("again/stop")) << "";
  const SweepResult asked = sweep_by(1, c);
  EXPECT_EQ(asked.count("unfinished"), 4);
  test::expect_words(asked.runs[3].reason, {"it failed before: ", "metrics.jsonl"});
  test::expect_words(failure_by(1, c), {kLargest, "sweep.fail_fast"});
  std::filesystem::remove_all(cell("again", "metrics.jsonl"));
  const SweepResult last = sweep_by(1, c);
  EXPECT_EQ(last.trained, 1) << "the others were first";
  EXPECT_EQ(last.count("done"), 4);
  EXPECT_EQ(last.runs[3].reason, "");
}

// begun.json is what a killed process leaves; the cell fails when it is reached, so that fail_fast
// shows the order.
TEST_F(SweepFailures, OfKilledProcessesComeLastFromTheSecondOn) {
  SweepConfig c = config("killed");
  c.fail_fast = true;
  const auto left_behind = [&](const std::string& begun) {
    std::filesystem::remove_all(at("killed"));
    std::filesystem::create_directories(cell("killed", "metrics.jsonl/x"));
    std::ofstream(cell("killed", "begun.json")) << begun;
    EXPECT_NE(failure_by(1, c), "");
    return std::filesystem::exists(at("killed/cells/1x8-16x128-lr0.01-s1/result.json"));
  };
  EXPECT_FALSE(left_behind(R"({"deaths": 0, "checkpoint": -1})")) << "once may happen to any";
  EXPECT_TRUE(left_behind(R"({"deaths": 1, "checkpoint": -1})"));
  EXPECT_FALSE(left_behind(R"({"deaths": 1, "checkpoint": -5})")) << "it came further";
  EXPECT_FALSE(std::filesystem::exists(cell("killed", "begun.json"))) << "it ended by itself";
  EXPECT_FALSE(left_behind("")) << "cut short";
}

TEST_F(SweepFailures, RightBeforeTheResultIsWrittenChangeNothing) {
  SweepConfig c = config("late");
  c.keep_weights = true;
  sweep_by(1, c);
  std::filesystem::remove(cell("late", "result.json"));
  EXPECT_EQ(sweep_by(1, c).trained, 1);
  expect_whole("late");
}

TEST_F(SweepFailures, ThatLoseMetricsBeginTheCellAnew) {
  SweepConfig c = config("lost");
  c.keep_weights = true;
  sweep_by(1, c);
  std::filesystem::remove(cell("lost", "result.json"));
  std::string lines = test::bytes_of_file(cell("lost", "metrics.jsonl"));
  const size_t second = lines.find("validation_loss", lines.find("validation_loss") + 1);
  const size_t begin = lines.rfind('\n', second) + 1, end = lines.find('\n', second) + 1;
  std::ofstream(cell("lost", "metrics.jsonl")) << lines.erase(begin, end - begin);
  const SweepResult first = sweep_by(1, c);
  EXPECT_EQ(first.runs[3].status, "failed");
  test::expect_words(first.runs[3].reason, {"holds 5 of 6 held-out losses"});
  EXPECT_EQ(sweep_by(1, c).count("done"), 4);
  expect_whole("lost");
}

TEST_F(SweepFailures, OfTheOnlyCheckpointBeginTheCellAnew) {
  SweepConfig c = config("cut");
  c.keep_weights = true;
  sweep_by(1, c);
  for (const char* file : {"rank-00000.h5", "manifest.json"}) {
    damage("cut", file, true);
    testing::internal::CaptureStderr();
    EXPECT_EQ(sweep_by(1, c).count("done"), 4);
    test::expect_words(
        testing::internal::GetCapturedStderr(),
        {std::string("cell ") + kLargest + " begins anew", "refused-checkpoints", file});
    expect_whole("cut");
    EXPECT_TRUE(std::filesystem::exists(cell("cut", "refused-checkpoints")));
    EXPECT_FALSE(checkpoint::list_checkpoints(cell("cut", "checkpoints")).empty());
  }
  c.keep_weights = false;
  damage("cut", "rank-00000.h5", true);
  EXPECT_EQ(sweep_by(1, c).count("done"), 4);
  EXPECT_FALSE(std::filesystem::exists(cell("cut", "refused-checkpoints"))) << "it has a result";
}

// Which may be as good as ever.
TEST_F(SweepFailures, OfReadingACheckpointEndTheJobAndSetNothingAside) {
  SweepConfig c = config("unread");
  c.keep_weights = true;
  sweep_by(1, c);
  std::filesystem::remove(cell("unread", "result.json"));
  const std::string manifest =
      checkpoint::list_checkpoints(cell("unread", "checkpoints")).front().path + "/manifest.json";
  std::filesystem::rename(manifest, manifest + ".away");
  std::filesystem::create_symlink("manifest.json", manifest);
  {
    const RetryWaits waits;
    test::expect_words(failure_by(1, c), {manifest, "Too many levels of symbolic links"});
  }
  EXPECT_FALSE(std::filesystem::exists(cell("unread", "refused-checkpoints")));
  EXPECT_FALSE(std::filesystem::exists(cell("unread", "result.json")));
  std::filesystem::rename(manifest + ".away", manifest);
  EXPECT_EQ(sweep_by(1, c).count("done"), 4);
  EXPECT_FALSE(std::filesystem::exists(cell("unread", "refused-checkpoints")));
  expect_whole("unread");
}

TEST_F(SweepFailures, OfOneCheckpointGoOnFromTheOneBefore) {
  SweepConfig c = config("older");
  c.keep_weights = true;
  c.run.checkpoint.keep = 2;
  c.ranks_per_run = 2;
  sweep_by(2, c);
  damage("older", "rank-00000.h5", false);
  testing::internal::CaptureStderr();
  EXPECT_EQ(sweep_by(2, c).count("done"), 4);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(told.find("begins anew"), std::string::npos) << told;
  test::expect_words(told, {"rank-00000.h5", "is refused"});
  EXPECT_FALSE(std::filesystem::exists(cell("older", "refused-checkpoints")));
  expect_whole("older");
}

TEST_F(SweepFailures, OtherTokensUnderTheSameNameAreRefused) {
  SweepConfig c = config("data");
  c.tokens = {"2048"};
  sweep_by(1, c);
  const auto replace = [&](size_t tokens) {
    data::TokenStoreWriter writer(training_, 64, -1, R"({"type":"bytes","version":1})");
    writer.add_document(std::vector<int32_t>(tokens, 1), static_cast<int64_t>(tokens));
    writer.finish();
  };
  replace(3000);
  test::expect_error(ExitCode::usage, {"bytes of data.train=4000, now it is 3000"},
                     [&] { sweep_by(1, c); });
  replace(4000);
  test::expect_error(ExitCode::usage, {"was begun with bytes of data.train (fingerprint)="},
                     [&] { sweep_by(1, c); });
}

TEST_F(SweepFailures, DamagedResultsAreRefusedByName) {
  const SweepConfig c = config("damage");
  sweep_by(1, c);
  const std::string whole = test::bytes_of_file(cell("damage", "result.json"));
  for (const std::string& text :
       {std::string(), std::string("[]"), whole.substr(0, 40),
        std::string(R"({"status": "good", "reason": "", "curve": []})"),
        std::string(R"({"status": "done", "reason": "", "loss": null, "curve": []})")}) {
    std::ofstream(cell("damage", "result.json")) << text;
    test::expect_error(
        ExitCode::usage,
        {std::string(kLargest) + "/result.json is damaged; remove the folder it is in"},
        [&] { sweep_by(1, c); });
  }
  std::filesystem::remove_all(cell("damage", ""));
  EXPECT_EQ(sweep_by(1, c).count("done"), 4);
  expect_whole("damage");
}

// The test is another job at work in the folder.
TEST_F(SweepFailures, TheLastJobTakesTheStopFileAway) {
  const SweepConfig c = config("jobs");
  std::filesystem::create_directories(at("jobs"));
  std::ofstream(at("jobs/stop")) << "";
  const int other = open(at("jobs/jobs.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(other, LOCK_SH), 0);
  EXPECT_TRUE(sweep_by(1, c).stopped);
  EXPECT_TRUE(std::filesystem::exists(at("jobs/stop"))) << "the other has not seen it yet";
  close(other);
  EXPECT_TRUE(sweep_by(1, c).stopped);
  EXPECT_FALSE(std::filesystem::exists(at("jobs/stop")));
  EXPECT_EQ(sweep_by(1, c).count("done"), 4);
}

}  // namespace
}  // namespace skein::scaling::sweep
