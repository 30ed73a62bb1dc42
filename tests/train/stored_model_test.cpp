// What a checkpoint says of its model, before anything of that size is made.
#include <gtest/gtest.h>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/models/description.h"
#include "skein/train/run_state.h"
#include "skein/train/run_weights.h"

#include "support/expect_error.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

ModelConfig small() {
  ModelConfig c;
  c.vocab_size = 64;
  c.context = 16;
  c.d_model = 32;
  c.n_layers = 4;
  c.n_heads = 4;
  return c;
}

RunState run_state_of(const ModelConfig& model) {
  PretrainConfig config;
  config.model = model;
  RunState state;
  state.config = config_values(config);
  return state;
}

TensorShapes held_by(const ModelConfig& c) {
  TensorShapes made;
  for (const auto& [name, shape] : tensor_shapes(c, whole_piece(c))) made["param/" + name] = shape;
  return made;
}

TEST(StoredModel, IsRefusedWithOptionValueAndBound) {
  EXPECT_EQ(stored_model(run_state_of(small()), "here").d_model, 32);
  const std::map<std::string, std::vector<std::string>> wrong = {
      {"model.context", {"9223372036854775807", "4611686018427387904", "0", "-1"}},
      {"model.n_layers", {"2000000000", "10001"}},
      {"model.n_heads", {"0", "-4", "9223372036854775807"}},
      {"model.d_head", {"-8"}},
      {"model.d_ff", {"-128", "9223372036854775807"}},
      {"model.vocab_size", {"9223372036854775807"}}};
  for (const auto& [key, values] : wrong)
    for (const std::string& value : values) {
      RunState state = run_state_of(small());
      state.config.at(key) = value;
      test::expect_error(ExitCode::usage, {"here", key, value},
                         [&] { (void)stored_model(state, "here"); });
    }
}

TEST(StoredModel, MustHaveTheTensorsThatAreHeld) {
  check_held(small(), held_by(small()), "here");
  const auto refused = [](const ModelConfig& model, const TensorShapes& held,
                          const std::vector<std::string>& words) {
    std::vector<std::string> all = words;
    all.push_back("here describes another model");
    test::expect_error(ExitCode::usage, all, [&] { check_held(model, held, "here"); });
  };
  ModelConfig other = small();
  other.vocab_size = 2'000'000'000;
  refused(other, held_by(small()),
          {"embedding.tokens.weight is [64,32] and would be [2000000000,32]"});
  other = small();
  other.context = 2'000'000'000;
  refused(other, held_by(small()), {"embedding.positions.weight is [16,32]", "[2000000000,32]"});
  other = small();
  other.n_layers = 10'000;
  refused(other, held_by(small()), {"model.n_layers is 10000", "no block 4"});
  other = small();
  other.d_ff = 1 << 24;
  refused(other, held_by(small()), {"block.0.mlp", "16777216"});
  TensorShapes less = held_by(small());
  less.erase("param/block.3.attention.k.bias");
  refused(small(), less, {"no block.3.attention.k.bias"});
  TensorShapes more = held_by(small());
  more["critic_param/x"] = {3};
  check_held(small(), more, "here");
}

TEST(StoredModel, OfARunIsWhatItHolds) {
  test::Scratch space;
  write_small_store(space.file("train.h5"));
  PretrainConfig config = small_config(space.file("train.h5"));
  config.train.steps = 1;
  config.run.dir = space.file("run");
  const auto alone = single_rank();
  pretrain(config, *alone);
  const auto info = find_weights(space.file("run"), *alone);
  ASSERT_TRUE(info.has_value());
  ModelConfig model = stored_model(run_state(info->metadata, info->path), info->path);
  const auto held = checkpoint_tensors(*info, *alone);
  check_held(model, held, info->path);
  model.n_layers = 5;
  test::expect_error(ExitCode::usage, {info->path, "no block 4"},
                     [&] { check_held(model, held, info->path); });
}

TEST(StoredState, CountsLieWithinWhatCanBeAddedTo) {
  const RunState good = run_state_of(small());
  const auto with = [&](const std::string& key, const std::string& value) {
    nlohmann::json json = nlohmann::json::parse(to_json(good, {}));
    json[key] = nlohmann::json::parse(value);
    return json.dump();
  };
  EXPECT_EQ(run_state(with("step", "7"), "here").step, 7);
  EXPECT_EQ(run_state(with("reduction_groups", "0"), "here").reduction_groups, 1);
  for (const char* key : {"step", "samples", "optimizer_steps", "reduction_groups"})
    for (const char* value :
         {"9223372036854775807", "9007199254740993", "-9223372036854775808", "-2"})
      test::expect_error(ExitCode::usage, {"here", key, value},
                         [&] { (void)run_state(with(key, value), "here"); });
}

}  // namespace
}  // namespace skein::train
