#include "skein/scaling/sweep/sweep.h"

#include <cmath>
#include <gtest/gtest.h>
#include <thread>

#include "skein/core/strings.h"
#include "skein/data/stores/store.h"
#include "skein/models/bert/bert.h"
#include "skein/scaling/laws/results_store.h"
#include "skein/train/progress.h"
#include "skein/train/tasks/language_task.h"

#include "data/masked_fixtures.h"
#include "scaling/sweep_fixture.h"

namespace skein::scaling::sweep {
namespace {

class Sweeps : public testing::Test {
 protected:
  Sweeps() { train::write_small_store(store_); }
  SweepConfig config(const std::string& dir) const { return tiny_sweep(store_, folder_.file(dir)); }
  std::string at(const std::string& name) const { return folder_.file(name); }
  std::string table(const std::string& dir) const { return table_without_seconds(at(dir)); }

  test::Scratch folder_;
  std::string store_ = folder_.file("store.h5");
};

TEST_F(Sweeps, EachCellIsARowAndASecondStartDoesNothing) {
  const SweepConfig c = config("run");
  const SweepResult first = sweep_by(1, c);
  ASSERT_EQ(first.runs.size(), 4u);
  EXPECT_EQ(first.trained, 4);
  EXPECT_EQ(first.count("done"), 4);
  for (const ScalingRun& run : first.runs) {
    ASSERT_FALSE(run.curve.empty());
    EXPECT_EQ(run.curve.back().tokens, run.tokens);
    EXPECT_EQ(run.curve.back().loss, run.loss);
    EXPECT_LT(run.loss, run.curve.front().loss);
    EXPECT_TRUE(std::isfinite(run.train_loss));
    EXPECT_FALSE(std::filesystem::exists(at("run/") + run.folder + "/checkpoints"));
    EXPECT_TRUE(std::filesystem::exists(at("run/") + run.folder + "/metrics.jsonl"));
  }
  EXPECT_EQ(test::bytes_of_file(at("run/config.ini")), "resolved");
  const std::string csv = test::bytes_of_file(at("run/results.csv")),
                    store = test::bytes_of_file(at("run/results.h5")),
                    curves = test::bytes_of_file(at("run/curves.csv"));
  EXPECT_EQ(csv, table_csv(first.runs));
  EXPECT_EQ(curves, curves_csv(first.runs));
  const SweepResult second = sweep_by(1, c);
  EXPECT_EQ(second.trained, 0);
  EXPECT_EQ(test::bytes_of_file(at("run/results.csv")), csv);
  EXPECT_EQ(test::bytes_of_file(at("run/results.h5")), store);
}

TEST_F(Sweeps, RanksAndTrainersChangeSecondsOnly) {
  sweep_by(1, config("one"));
  sweep_by(2, config("two"));
  SweepConfig pairs = config("pairs");
  pairs.ranks_per_run = 2;
  sweep_by(4, pairs);
  EXPECT_EQ(table("one"), table("two"));
  EXPECT_EQ(table("one"), table("pairs"));
}

TEST_F(Sweeps, ProcessesShareAFolder) {
  const SweepConfig c = config("shared");
  std::atomic<int64_t> trained{0};
  std::vector<std::thread> processes;
  for (int i = 0; i < 2; ++i)
    processes.emplace_back([&] {
      const auto world = single_rank();
      trained += run_sweep(c, *world).trained;
    });
  for (std::thread& process : processes) process.join();
  EXPECT_EQ(trained, 4);
  EXPECT_EQ(sweep_by(1, c).count("done"), 4);
}

TEST_F(Sweeps, WhatDivergesIsKeptOutWithItsReason) {
  SweepConfig c = config("wild");
  c.shapes = {"1x8"};
  c.tokens = {"4096"};
  c.lr = {"1e-2", "300"};
  c.run.optimizer.clip = 0;
  const SweepResult result = sweep_by(1, c);
  EXPECT_EQ(result.runs[0].status, "done");
  EXPECT_EQ(result.runs[1].status, "diverged") << result.runs[1].loss;
  EXPECT_FALSE(result.runs[1].reason.empty());
  EXPECT_EQ(sweep_by(1, c).trained, 0) << "it would diverge again";
}

TEST_F(Sweeps, AFailureLeavesTheOthersAndIsTriedAgain) {
  const SweepConfig c = config("broken");
  const std::string metrics = at("broken/cells/1x8-16x128-lr0.01-s1/metrics.jsonl");
  std::filesystem::create_directories(metrics + "/x");
  const SweepResult result = sweep_by(1, c);
  EXPECT_EQ(result.count("failed"), 1);
  EXPECT_EQ(result.count("done"), 3);
  EXPECT_NE(result.runs[0].reason.find("cannot be written"), std::string::npos)
      << result.runs[0].reason;
  std::filesystem::remove_all(metrics);
  EXPECT_EQ(sweep_by(1, c).count("done"), 4);
  sweep_by(1, config("whole"));
  EXPECT_EQ(table("broken"), table("whole"));
}

TEST_F(Sweeps, FailFastEndsTheSweep) {
  SweepConfig c = config("fast");
  c.ranks_per_run = 2;
  c.fail_fast = true;
  std::filesystem::create_directories(at("fast/cells/1x16-32x128-lr0.01-s1/metrics.jsonl/x"));
  try {
    sweep_by(2, c);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("sweep.fail_fast"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(std::filesystem::exists(at("fast/cells/1x8-16x128-lr0.01-s1/result.json")));
}

TEST_F(Sweeps, OtherSettingsAreRefusedByName) {
  SweepConfig c = config("run");
  sweep_by(1, c);
  c.run.optimizer.weight_decay = 0.5;
  test::expect_error(ExitCode::usage, {"optimizer.weight_decay=0.1, now it is 0.5"},
                     [&] { sweep_by(1, c); });
  c = config("run");
  c.run.checkpoint.every = 7;
  c.run.run.log_every = 3;
  EXPECT_EQ(sweep_by(1, c).trained, 0) << "neither changes a result";
  c.tokens.push_back("1024");
  EXPECT_EQ(sweep_by(1, c).trained, 2) << "a design may grow";
}

// 4000 tokens are 249 windows of 16, which 2048 tokens do not fill and 4096 do.
TEST_F(Sweeps, CellsSayHowManyTokensTheySawOnce) {
  testing::internal::CaptureStderr();
  const SweepResult result = sweep_by(1, config("run"));
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(result.runs[0].tokens, 2048);
  EXPECT_EQ(result.runs[0].unique_tokens, 2048);
  EXPECT_EQ(result.runs[1].tokens, 4096);
  EXPECT_EQ(result.runs[1].unique_tokens, 249 * 16);
  EXPECT_NE(told.find("2 of 4 cells see tokens of data.train again: 1x8-32x128-lr0.01-s1 the most, "
                      "112 of its 4.1k tokens (1.03 passes over 4.0k)"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("column unique_tokens tells `skein fit`"), std::string::npos) << told;
  SweepConfig longer = config("longer");
  longer.shapes = {"1x8"};
  longer.tokens = {"40960"};
  testing::internal::CaptureStderr();
  forecast_text(longer, *single_rank());
  const std::string many = testing::internal::GetCapturedStderr();
  EXPECT_NE(many.find("10.3 passes over 4.0k"), std::string::npos) << many;
  EXPECT_NE(many.find("beyond that they are not"), std::string::npos) << many;
}

TEST_F(Sweeps, OfEncodersTellRepeatedDataToo) {
  const std::string store = at("sentences.h5");
  test::write_sentence_store(store);
  SweepConfig c = tiny_sweep(store, at("encoders"));
  c.run.model = train::encoder_config(store).model;
  c.run.model.vocab_size = data::TokenStore(store).info().vocab_size;
  c.run.mlm.pairs = data::PairTask::none;
  bert_options(c.run.model).pooler = false;
  c.shapes = {"1x8"};
  c.batch = {"192"};
  c.tokens = {"409600"};
  testing::internal::CaptureStderr();
  forecast_text(c, *single_rank());
  const std::string told = testing::internal::GetCapturedStderr();
  const double held = static_cast<double>(data::TokenStore(store).info().tokens);
  EXPECT_NE(
      told.find(fmt::format("({:.3g} passes over {})", 2134 * 192 / held, readable_count(held))),
      std::string::npos)
      << held << told;
}

// All there are, two marks of each included, or as many as are asked for.
TEST_F(Sweeps, OfEncodersAreJudgedBySamples) {
  const std::string store = at("sentences.h5");
  test::write_sentence_store(store);
  train::PretrainConfig run = train::encoder_config(store);
  run.mlm.pairs = data::PairTask::none;
  run.validation.eval.windows = 0;
  const auto judged = [&] { return train::language_task(run)->held_out_tokens(); };
  const int64_t context = run.model.context;
  EXPECT_EQ(judged(), data::TokenStore(store).info().tokens / (context - 2) * context);
  run.validation.eval.windows = 3;
  EXPECT_EQ(judged(), 3 * context);
}

TEST_F(Sweeps, AStopFileEndsItBetweenCells) {
  const SweepConfig c = config("asked");
  std::filesystem::create_directories(at("asked"));
  std::ofstream(at("asked/stop")) << "";
  const SweepResult result = sweep_by(1, c);
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.count("unfinished"), 4);
  EXPECT_FALSE(std::filesystem::exists(at("asked/stop")));
  EXPECT_EQ(sweep_by(1, c).count("done"), 4);
}

TEST_F(Sweeps, WhatCannotBeIsToldBeforeAnythingRuns) {
  SweepConfig c = config("none");
  c.ranks_per_run = 2;
  test::expect_error(ExitCode::usage, {"sweep.ranks_per_run=2 does not divide the 1 ranks"},
                     [&] { sweep_by(1, c); });
  c = config("none");
  c.run.parallel.tensor = 2;
  c.ranks_per_run = 2;
  test::expect_error(ExitCode::usage, {"cell 1x8-16x128-lr0.01-s1"}, [&] { sweep_by(2, c); });
  c = config("none");
  c.run.data.validation.clear();
  test::expect_error(ExitCode::usage, {"data.validation is empty"}, [&] { settled(c); });
  EXPECT_FALSE(std::filesystem::exists(at("none")));
}

TEST_F(Sweeps, ACellWithFewerBlocksThanStagesIsToldBeforeAnythingRuns) {
  SweepConfig c = config("pieces");
  c.shapes = {"2x8", "1x8", "2x16"};
  c.ranks_per_run = 2;
  c.run.parallel.pipeline = 2;
  run_ranks(2, [&](Group& world) {
    test::expect_error(ExitCode::usage, {"model.n_layers=1 is fewer than the 2 pipeline pieces"},
                       [&] { run_sweep(c, world, ""); });
  });
  EXPECT_FALSE(std::filesystem::exists(at("pieces")));
}

TEST_F(Sweeps, ForecastsCountEveryCell) {
  SweepConfig c = config("none");
  c.flops_per_second = 1e6;
  const std::string text = forecast_text(c, *single_rank());
  // 6 evaluations of 4000 tokens at a third of a step's FLOPs, beside 2048 and 4096 tokens of
  // training: 16000 of 22144.
  for (const char* word : {"1x8-16x128-lr0.01-s1", "1x16-32x128-lr0.01-s1", "N blocks", "4 cells",
                           "as given", "72% of it for held-out evaluations of 4.0k tokens",
                           "Evaluations take longer than the training: fewer validation.points, or "
                           "validation.windows"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " is not in\n" << text;
  EXPECT_FALSE(std::filesystem::exists(at("none")));
  c.run.validation.points = 0;
  c.run.validation.every = 8;
  c.run.validation.eval.windows = 25;
  // 2 and 4 evaluations of 400 tokens: 800 of 6944.
  const std::string fewer = forecast_text(c, *single_rank());
  EXPECT_NE(fewer.find("12% of it for held-out evaluations of 400 tokens"), std::string::npos)
      << fewer;
  EXPECT_EQ(fewer.find("Evaluations take longer"), std::string::npos) << fewer;
  c.flops_per_second = std::nan("");
  test::expect_error(ExitCode::usage, {"sweep.flops_per_second=nan"},
                     [&] { forecast_text(c, *single_rank()); });
}

}  // namespace
}  // namespace skein::scaling::sweep
