// Runs of a task in a folder, and what they are held to.
#pragma once

#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "skein/tensor/cuda.h"
#include "skein/train/trainer.h"

#include "train/layout_check.h"

namespace skein::test {

// Config: of the task, its run in `run`.
template <class Config>
class TaskRuns : public testing::Test {
 protected:
  struct Ended {
    train::Finished finished;
    train::Scores validation;
    int64_t step = 0;
  };

  virtual std::unique_ptr<train::Task> task(Config& config) const = 0;

  // In the folder `name`, whose state is told then; "": in none.
  Ended run(Config c, int ranks = 1, const std::string& name = "") const {
    c.run.run.dir = name.empty() ? "" : folder_.file(name);
    Ended ended;
    run_ranks(ranks, [&](Group& world) {
      Config own = c;
      const auto made = task(own);
      const train::TrainResult result = train::train(own.run, *made, world);
      if (world.rank() == 0)
        ended = {{result.losses, result.grad_norms, {}, {}}, result.validation, result.step};
    });
    if (!name.empty()) ended.finished.state = train::state_of(folder_.file(name));
    return ended;
  }
  // One rank's run in the folder `name` ends as those of all splits do, bit for bit.
  void expect_equal_bits(Config c, const std::string& name,
                         const std::vector<train::RunSplit>& splits) const {
    c.run.parallel.reduction_groups = 4;
    const Ended expected = run(c, 1, name);
    for (const train::RunSplit& split : splits) {
      const std::string other = fmt::format("{}_data{}_pipeline{}_micro{}", name, split.data,
                                            split.pipeline, split.micro_batch);
      Config divided = c;
      divided.run = split.of(c.run);
      const Ended found = run(divided, split.ranks(), other);
      EXPECT_EQ(found.finished.losses, expected.finished.losses) << other;
      EXPECT_EQ(found.finished.grad_norms, expected.finished.grad_norms) << other;
      EXPECT_EQ(train::first_difference(found.finished.state, expected.finished.state), "")
          << other;
      EXPECT_EQ(found.validation.values, expected.validation.values) << other;
    }
  }
  void expect_near_at_tensor_parallel(Config c) const {
    const Ended expected = run(c);
    c.run.parallel.tensor = 2;
    for (const bool sequence : {false, true}) {
      c.run.parallel.sequence = sequence;
      const Ended found = run(c, 2);
      ASSERT_EQ(found.finished.losses.size(), expected.finished.losses.size());
      for (size_t i = 0; i < expected.finished.losses.size(); ++i)
        EXPECT_NEAR(found.finished.losses[i], expected.finished.losses[i], 1e-4) << sequence;
      EXPECT_NEAR(value(found.validation, "loss"), value(expected.validation, "loss"), 1e-4);
    }
  }
  // A GPU, real or emulated, has the losses, norms and validation of the CPU, and gives its own
  // bits again. Skipped where there is none.
  void expect_gpu_to_follow(Config c) const {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU";
    c.run.train.steps = 3;
    c.run.train.precision = DType::f32;
    const Ended expected = run(c);
    c.run.parallel.device = DeviceKind::cuda;
    const Ended found = run(c, 1, "first"), again = run(c, 1, "second");
    ASSERT_EQ(found.finished.losses.size(), expected.finished.losses.size());
    for (size_t i = 0; i < expected.finished.losses.size(); ++i) {
      const double norm = expected.finished.grad_norms[i];
      EXPECT_NEAR(found.finished.losses[i], expected.finished.losses[i], 5e-5) << "step " << i;
      EXPECT_NEAR(found.finished.grad_norms[i], norm, 2e-4 * norm) << "step " << i;
    }
    EXPECT_NEAR(value(found.validation, "loss"), value(expected.validation, "loss"), 1e-4);
    EXPECT_EQ(again.finished.losses, found.finished.losses);
    EXPECT_EQ(train::first_difference(again.finished.state, found.finished.state), "");
    std::filesystem::remove_all(folder_.file("first"));
    std::filesystem::remove_all(folder_.file("second"));
  }
  // The rest of a run that was stopped at the checkpoint of `step` is that of the whole one,
  // `expected` in the folder "expected", bit for bit.
  void expect_equal_rest(const Config& c, int ranks, const Ended& expected, int64_t step) const {
    copy_until("expected", "run", step);
    const Ended found = run(c, ranks, "run");
    EXPECT_EQ(found.step, expected.step);
    EXPECT_EQ(found.finished.losses, std::vector<double>(expected.finished.losses.begin() + step,
                                                         expected.finished.losses.end()));
    EXPECT_EQ(train::first_difference(found.finished.state, expected.finished.state), "");
  }
  void expect_to_go_on_with_equal_bits(Config c) const {
    c.run.train.steps = 12;
    c.run.lr.decay = train::LrConfig::Decay::constant;
    c.run.checkpoint.every = 5;
    c.run.checkpoint.keep = 100;
    const Ended expected = run(c, 1, "expected");
    c.run.parallel.pipeline = 2;
    expect_equal_rest(c, 2, expected, 5);
  }
  static double value(const train::Scores& scores, const std::string& name) {
    for (const auto& [key, found] : scores.values)
      if (key == name) return found;
    ADD_FAILURE() << "no " << name;
    return 0;
  }
  std::string error_of(const Config& c, const std::string& name = "") const {
    return refusal_of([&] { run(c, 1, name); });
  }

  test::Scratch folder_;

 private:
  // A copy of a run that has no checkpoint behind that of `step`.
  void copy_until(const std::string& from, const std::string& to, int64_t step) const {
    std::filesystem::copy(folder_.file(from), folder_.file(to),
                          std::filesystem::copy_options::recursive);
    const std::string last = fmt::format("step-{:08}", step + 1);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file(to) + "/checkpoints"))
      if (const std::string name = entry.path().filename().string();
          name.starts_with("step-") && name >= last)
        std::filesystem::remove_all(entry.path());
  }
};

}  // namespace skein::test
