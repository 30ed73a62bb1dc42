#include "skein/runs/run_log.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "runs/run_fixture.h"

namespace skein::runs {
namespace {

using test::expect_error;
using test::run_folder;
using test::Scratch;

TEST(Curve, HoldsAllWhileThereIsRoom) {
  Curve curve;
  for (int step = 1; step <= 512; ++step) curve.add(step, step * 0.5);
  ASSERT_EQ(curve.points().size(), 512u);
  EXPECT_EQ(curve.records_of_point(), 1);
  EXPECT_EQ(curve.points()[9].step, 10);
  EXPECT_EQ(curve.points()[9].mean, 5.0f);
  EXPECT_EQ(curve.last(), 256);
}

TEST(Curve, MergesNeighboursAndKeepsTheirExtremes) {
  Curve curve;
  for (int step = 0; step < 10'000; ++step) curve.add(step, step == 5000 ? 1e6 : 2);
  EXPECT_EQ(curve.records_of_point(), 32);
  EXPECT_EQ(curve.records(), 10'000);
  ASSERT_EQ(curve.points().size(), 313u);  // 312 of 32 records, and one of 16
  EXPECT_EQ(curve.points()[0].step, 15.5);
  EXPECT_EQ(curve.points()[312].step, 9991.5);
  for (const Point& point : curve.points()) {
    const bool spike = point.step == 5000 / 32 * 32 + 15.5;
    EXPECT_EQ(point.high, spike ? 1e6f : 2.0f) << point.step;
    EXPECT_EQ(point.low, 2.0f);
    EXPECT_NEAR(point.mean, spike ? (1e6 + 31 * 2) / 32 : 2, 0.01);
  }
}

TEST(Curve, PassesOverWhatIsNotFinite) {
  Curve curve;
  for (int step = 0; step < 1024; ++step) curve.add(step, step < 2 || step % 2 ? NAN : 3);
  EXPECT_TRUE(std::isnan(curve.points()[0].mean));
  EXPECT_EQ(curve.points()[1].mean, 3.0f);
  EXPECT_EQ(curve.points()[1].high, 3.0f);
  EXPECT_TRUE(std::isnan(curve.last()));
}

TEST(RunLog, ReadsWhatComes) {
  const Scratch scratch;
  const std::string folder = run_folder(scratch, "run",
                                        "{\"step\":1,\"loss\":2.5,\"lr\":1}\n"
                                        "{\"step\":1,\"validation_loss\":null}\n{\"step\":2,\"lo");
  RunLog log(folder);
  EXPECT_TRUE(log.read());
  EXPECT_EQ(log.step(), 1);
  EXPECT_EQ(log.lines(), 2);
  EXPECT_TRUE(log.has_open_line());
  ASSERT_EQ(log.curves().size(), 3u);
  EXPECT_EQ(log.curves()[1].first, "lr");
  EXPECT_TRUE(std::isnan(log.curve("validation_loss")->last()));
  EXPECT_EQ(log.curve("nothing"), nullptr);
  EXPECT_FALSE(log.read());
  std::ofstream(folder + "/metrics.jsonl", std::ios::app) << "ss\":1.5}\n";
  EXPECT_TRUE(log.read());
  EXPECT_FALSE(log.has_open_line());
  EXPECT_EQ(log.step(), 2);
  EXPECT_EQ(log.curve("loss")->points().size(), 2u);
  EXPECT_EQ(log.curve("loss")->last(), 1.5);
}

// A start of the run puts a new file in the place of the old one.
TEST(RunLog, BeginsAnewWithAnotherFile) {
  const Scratch scratch;
  const std::string folder =
      run_folder(scratch, "run", "{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":2}\n");
  RunLog log(folder);
  log.read();
  std::ofstream(folder + "/new") << "{\"step\":1,\"loss\":7}\n{\"step\":2,\"loss\":8}\n";
  std::filesystem::rename(folder + "/new", folder + "/metrics.jsonl");
  EXPECT_TRUE(log.read());
  ASSERT_EQ(log.curve("loss")->points().size(), 2u);
  EXPECT_EQ(log.curve("loss")->points()[0].mean, 7.0f);
}

TEST(RunLog, NamesFileAndLineOfWhatIsDamaged) {
  const Scratch scratch;
  const std::string good = "{\"step\":5,\"loss\":2}\n";
  const auto refuses = [&](const std::string& line, const std::string& word,
                           const std::string& other = "") {
    const std::string folder = run_folder(scratch, "run", good + line + "\n" + good);
    RunLog log(folder);
    expect_error(ExitCode::usage, {folder + "/metrics.jsonl:2", word, other}, [&] { log.read(); });
    EXPECT_EQ(log.step(), -1);
  };
  refuses("{\"step\":6,\"lo", "no line of a run's numbers", "take it out");
  refuses("", "no line of a run's numbers");
  refuses("7", "no line of a run's numbers");
  refuses("null", "it is no object");
  refuses("[1]", "it is a list");
  refuses("{\"loss\":1}", "it has no \"step\"");
  refuses("{\"step\":-6,\"loss\":1}", "\"step\" is no number of steps");
  refuses("{\"step\":6.5}", "\"step\" is no whole number");
  refuses("{\"step\":6,\"loss\":\"much\"}", "\"loss\" is a text");
  refuses("{\"step\":6,\"loss\":true}", "\"loss\" is true or false");
  refuses("{\"step\":6,\"loss\":{\"a\":1}}", "\"loss\" is an object");
  refuses("{\"step\":6} {}", "no line of a run's numbers");
  refuses("{\"step\":4}", "of step 4", "of step 5");
  refuses(std::string(2'000'000, ' '), "longer than 1000000 bytes");
  std::string many = "{\"step\":6";
  for (int i = 0; i < 1001; ++i) many += ",\"n" + std::to_string(i) + "\":1";
  refuses(many + "}", "more than 1000 names");
}

TEST(RunLog, TellsRunsFromOtherFolders) {
  const Scratch scratch;
  const std::string folder = run_folder(scratch, "run", "");
  EXPECT_TRUE(is_run(folder));
  EXPECT_FALSE(is_run(folder + "/metrics.jsonl"));
  EXPECT_FALSE(is_run(scratch.file("nothing")));
  std::filesystem::remove(folder + "/metrics.jsonl");
  EXPECT_FALSE(is_run(folder));
  std::filesystem::create_directory(folder + "/metrics.jsonl");
  RunLog log(folder);
  expect_error(ExitCode::usage, {"metrics.jsonl is no file"}, [&] { log.read(); });
}

TEST(RunLog, ReadsTheLastAnswers) {
  const Scratch scratch;
  const std::string folder = run_folder(scratch, "run", "");
  EXPECT_TRUE(last_answers(folder, 3).empty());
  std::ofstream file(folder + "/rollouts.jsonl");
  for (int i = 0; i < 20'000; ++i)
    file << "{\"step\":" << i << ",\"prompt\":\"p\",\"answer\":\"a" << i
         << "\",\"score\":0.5,\"reward\":null}\n";
  file << "{\"step\":9,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},7],\"answer\":3}\n"
       << "not JSON\n"
       << std::string(200, '[') << "\n{\"step\":1,\"answ";
  file.close();
  const auto last = last_answers(folder, 3);
  ASSERT_EQ(last.size(), 3u);
  EXPECT_EQ(last[0].answer, "a19998");
  EXPECT_EQ(last[1].score, 0.5);
  EXPECT_TRUE(std::isnan(last[1].reward));
  EXPECT_EQ(last[2].prompt, "user: hi\n: \n");
  EXPECT_EQ(last[2].answer, "");
}

TEST(RunLog, ReadsOptions) {
  const Scratch scratch;
  EXPECT_TRUE(options_of_run(run_folder(scratch, "none", "")).empty());
  const std::string folder = run_folder(scratch, "run", "", "[lr]\nlr = 0.1  # flag\n");
  const auto options = options_of_run(folder);
  ASSERT_EQ(options.size(), 1u);
  EXPECT_EQ(options[0], (std::pair<std::string, std::string>("lr.lr", "0.1")));
  run_folder(scratch, "run", "", "lr = 1\nnonsense\n");
  expect_error(ExitCode::usage, {"config.ini:"}, [&] { options_of_run(folder); });
}

}  // namespace
}  // namespace skein::runs
