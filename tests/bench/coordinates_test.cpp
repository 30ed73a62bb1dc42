// The coordinate check: flat with muP, growing without it.
#include "skein/bench/coordinates.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "skein/comm/local.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/models/bert/bert.h"

#include "support/expect_error.h"

namespace skein::bench {
namespace {

using test::expect_error;

train::PretrainConfig small_run() {
  train::PretrainConfig c;
  c.model.vocab_size = 32;
  c.model.context = 16;
  c.model.d_model = 32;
  c.model.n_layers = 2;
  c.model.n_heads = 4;
  c.train.global_batch = c.train.micro_batch = 4;
  c.lr.lr = 0.01;
  return c;
}

Coordinates checked(const train::PretrainConfig& run, const CoordinateConfig& config) {
  log::set_level(log::Level::error);
  const auto alone = single_rank();
  return coordinates(run, config, *alone);
}

double largest_exponent(const Coordinates& made, int64_t step) {
  double most = -10;
  for (size_t layer = 0; layer < made.layers.size(); ++layer)
    most = std::max(most, made.exponent(layer, step));
  return most;
}

TEST(Coordinates, AreFlatWithMupAndGrowWithoutIt) {
  for (const bool wider_heads : {false, true}) {
    train::PretrainConfig run = small_run();
    const CoordinateConfig config{{32, 64, 128}, 6, 2, wider_heads};
    const Coordinates without = checked(run, config);
    EXPECT_EQ(without.layers,
              (std::vector<std::string>{"embedding", "block.0", "block.1", "logits"}));
    EXPECT_GT(without.exponent(2, 6), 0.5) << without.table();
    EXPECT_GT(without.exponent(3, 6), 0.5) << without.table();
    EXPECT_TRUE(without.grows(3));
    EXPECT_NE(without.verdict(false).find("logits"), std::string::npos);
    run.model.mup_base_width = 32;
    const Coordinates with = checked(run, config);
    EXPECT_LT(largest_exponent(with, 6), 0.15) << with.table();
    EXPECT_GT(with.exponent(1, 6), -0.35) << with.table();
    EXPECT_NE(with.verdict(true).find("no layer grows"), std::string::npos) << with.table();
    // At the base width they are one model.
    for (size_t layer = 0; layer < with.layers.size(); ++layer)
      for (size_t step = 0; step <= 6; ++step)
        EXPECT_EQ(with.sizes[layer][step][0], without.sizes[layer][step][0]);
    EXPECT_EQ(with.losses[0], without.losses[0]);
  }
}

TEST(Coordinates, FindTheExponentOfAPower) {
  EXPECT_NEAR(growth_exponent({16, 32, 128}, {2, std::sqrt(2.0) * 2, std::sqrt(8.0) * 2}), 0.5,
              1e-12);
  EXPECT_NEAR(growth_exponent({64, 128}, {3, 3}), 0, 1e-12);
  EXPECT_TRUE(std::isnan(growth_exponent({64, 128}, {3, 0})));
  EXPECT_TRUE(std::isnan(growth_exponent({64, 128}, {std::numeric_limits<double>::infinity(), 1})));
}

TEST(Coordinates, WriteNullForWhatIsNotFinite) {
  Coordinates made{{8, 16},
                   {"embedding", "logits"},
                   {{{1, 2}, {1, 2}}, {{1, 1}, {std::nan(""), 1}}},
                   {3, std::nan("")}};
  const auto json = nlohmann::json::parse(coordinates_json(made));
  EXPECT_EQ(json["losses"], nlohmann::json::parse("[3.0, null]"));
  EXPECT_NEAR(json["layers"][0]["exponents"][1].get<double>(), 1, 1e-12);
  EXPECT_TRUE(json["layers"][1]["exponents"][1].is_null());
  EXPECT_TRUE(json["layers"][1]["sizes"][1][0].is_null());
  EXPECT_EQ(json["layers"][1]["grows"], true);
  EXPECT_NE(made.verdict(true).find("embedding, logits"), std::string::npos);
  EXPECT_EQ(made.table().find("nan"), std::string::npos);
}

TEST(Coordinates, WidenAModelInProportion) {
  ModelConfig model = small_run().model;
  model.n_kv_heads = 2;
  model.d_ff = 96;
  model.mup_base_width = 16;
  const ModelConfig more = widened(model, 64, false), wider = widened(model, 64, true);
  EXPECT_EQ(more.n_heads, 8);
  EXPECT_EQ(more.n_kv_heads, 4);
  EXPECT_EQ(more.head_width(), 8);
  EXPECT_EQ(more.d_ff, 192);
  EXPECT_EQ(more.attention_scale(), 1 / std::sqrt(8.0));
  EXPECT_EQ(wider.n_heads, 4);
  EXPECT_EQ(wider.head_width(), 16);
  EXPECT_EQ(wider.mup_base_head, 4);
  EXPECT_EQ(wider.attention_scale(), 2.0 / 16);
  expect_error(ExitCode::usage, {"72", "no multiple of 16"}, [&] { widened(model, 72, false); });
  expect_error(ExitCode::usage, {"66", "model.n_heads=4"}, [&] { widened(model, 66, true); });
}

TEST(Coordinates, RefuseWhatCannotBeCompared) {
  const auto refused =
      [](const std::function<void(train::PretrainConfig&, CoordinateConfig&)>& change,
         std::initializer_list<std::string> words) {
        train::PretrainConfig run = small_run();
        CoordinateConfig config{{32, 64}, 1, 1, false};
        change(run, config);
        expect_error(ExitCode::usage, words, [&] { checked(run, config); });
      };
  refused([](train::PretrainConfig&, CoordinateConfig& c) { c.widths = {32}; },
          {"bench.widths=32", "two widths"});
  refused(
      [](train::PretrainConfig&, CoordinateConfig& c) {
        c.widths = {64, 32};
      },
      {"bench.widths=64,32", "above the one before"});
  refused([](train::PretrainConfig&, CoordinateConfig& c) { c.steps = 0; }, {"bench.steps=0"});
  refused([](train::PretrainConfig& run,
             CoordinateConfig&) { run.model.architecture = &bert_architecture(); },
          {"model.architecture=gpt"});
  run_ranks(2, [](Group& world) {
    expect_error(ExitCode::usage, {"one rank, not 2"},
                 [&] { coordinates(small_run(), {}, world); });
  });
}

}  // namespace
}  // namespace skein::bench
