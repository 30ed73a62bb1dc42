#include <fstream>
#include <gtest/gtest.h>

#include "skein/core/json.h"

#include "train/train_fixture.h"

namespace skein::train {
namespace {

TEST(Points, AreEvenlySpacedInTheLogarithm) {
  EXPECT_TRUE(evaluation_steps(0, 100).empty());
  EXPECT_EQ(evaluation_steps(1, 100), (std::vector<int64_t>{100}));
  EXPECT_EQ(evaluation_steps(4, 1000), (std::vector<int64_t>{5, 29, 171, 1000}));
  EXPECT_EQ(evaluation_steps(50, 4), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(evaluation_steps(24, 123457).back(), 123457);
}

TEST(Points, AreEvaluatedBesideTheOthers) {
  test::Scratch folder;
  const std::string store = folder.file("store.h5");
  write_small_store(store);
  PretrainConfig c = small_config(store);
  c.data.validation = {store};
  c.validation.every = 10;
  c.validation.points = 3;
  train(c, 1, folder, "run");
  std::vector<int64_t> steps;
  std::ifstream lines(folder.file("run/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json.contains("validation_loss")) steps.push_back(json["step"]);
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 4, 10, 20}));
}

}  // namespace
}  // namespace skein::train
