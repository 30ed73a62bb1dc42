// The mean of checkpoints: its numbers, what it says of itself, and what has none.
#include "skein/convert/average.h"

#include <gtest/gtest.h>

#include "skein/checkpoint/tensors.h"

#include "convert/fresh_run.h"

namespace skein::convert {
namespace {

using test::expect_error;
using test::Scratch;

struct Saved {
  uint64_t seed = 1;
  int ranks = 1;
  DType dtype = DType::f32;
  std::string notes{};
  std::string tokenizer{};
  int64_t step = 7;
};

// As training leaves it, with a moment of each weight.
void save(const std::string& path, const Saved& how, const ModelConfig& model) {
  log::set_level(log::Level::error);
  train::RunState state;
  state.step = state.optimizer_steps = how.step;
  state.samples = 5;
  state.reduction_groups = 2;
  state.notes = train::TaskNotes(how.notes);
  state.tokenizer = text::StoredTokenizer(how.tokenizer);
  state.config = model_values(model);
  run_ranks(how.ranks, [&](Group& tp) {
    Parameters parameters(how.dtype, tp.rank(), tp.size());
    const Gpt whole(model, {0, static_cast<int>(model.n_layers), true, true, 0}, false, parameters);
    parameters.allocate(false);
    parameters.initialize(how.seed);
    std::vector<checkpoint::Piece> pieces;
    for (const Parameter& p : parameters.all())
      for (const char* kind : {"param", "adam_m"})
        if (!p.tied() && (p.split != Split::none || tp.rank() == 0))
          pieces.push_back(checkpoint::piece_of(kind, p, 0, p.value.flat(0, p.valid_size())));
    checkpoint::CheckpointStore(path, 1, tp).save(how.step, pieces, to_json(state, {}));
  });
}

std::map<std::string, std::vector<double>> weights_in(const std::string& path) {
  const auto alone = single_rank();
  checkpoint::CheckpointTensors tensors(*checkpoint::find_checkpoint(path, *alone));
  std::map<std::string, std::vector<double>> all;
  for (const auto& [name, tensor] : tensors.tensors()) {
    auto& values = all[name];
    values.resize(static_cast<size_t>(checkpoint::element_count(tensor.shape)));
    tensors.read(name, 0, std::ssize(values), DType::f64,
                 reinterpret_cast<std::byte*>(values.data()));
  }
  return all;
}

class Average : public testing::Test {
 protected:
  std::string saved(const std::string& name, const Saved& how,
                    const ModelConfig& model = test::small_model()) const {
    save(scratch_.file(name), how, model);
    return scratch_.file(name);
  }
  void expect_refused(const std::string& first, const std::string& second,
                      std::initializer_list<std::string> words) const {
    expect_error(ExitCode::usage, words, [&] {
      average({first, second}, scratch_.file("refused"));
    });
    EXPECT_FALSE(std::filesystem::exists(scratch_.file("refused")));
  }

  Scratch scratch_;
};

TEST_F(Average, IsTheMeanOfEachWeightWhateverTheLayouts) {
  const std::vector<std::string> paths{saved("a", {.seed = 1}), saved("b", {.seed = 2, .ranks = 2}),
                                       saved("c", {.seed = 3})};
  average(paths, scratch_.file("mean"));
  const auto a = weights_in(paths[0]), b = weights_in(paths[1]), c = weights_in(paths[2]),
             mean = weights_in(scratch_.file("mean"));
  size_t weights = 0, differ = 0;
  for (const auto& [name, values] : a) {
    if (!name.starts_with("param/")) continue;
    ASSERT_TRUE(mean.contains(name)) << name;
    for (size_t i = 0; i < values.size(); ++i) {
      const double sum = values[i] + b.at(name)[i] + c.at(name)[i];
      ASSERT_EQ(mean.at(name)[i], static_cast<float>(sum / 3)) << name;
      differ += values[i] != b.at(name)[i];
    }
    ++weights;
  }
  EXPECT_EQ(mean.size(), weights) << "something else than weights was kept";
  EXPECT_GT(differ, 100u);
}

TEST_F(Average, BeginsARunOfNoStepsThatSaysTheRestOfTheLastSource) {
  const std::string notes = R"({"task": "seq2seq", "start": "</s>"})", bytes = "{}";
  const std::vector<std::string> paths{
      saved("a", {.seed = 1, .notes = notes, .tokenizer = bytes, .step = 3}),
      saved("b", {.seed = 2, .notes = notes, .tokenizer = bytes, .step = 4})};
  const std::string made = average(paths, scratch_.file("mean"));
  const auto info = checkpoint::find_checkpoint(made, *single_rank());
  const train::RunState state = train::run_state(info->metadata, info->path);
  EXPECT_EQ(state.step, 0);
  EXPECT_EQ(state.samples, 0);
  EXPECT_EQ(state.optimizer_steps, 0);
  EXPECT_EQ(state.notes.text(), notes);
  EXPECT_EQ(state.tokenizer.text(), bytes);
  EXPECT_EQ(state.config, model_values(test::small_model()));
  expect_error(ExitCode::usage, {"holds a model already"},
               [&] { average(paths, scratch_.file("mean")); });
}

TEST_F(Average, TakesTheTypeOfAllOrF32) {
  const std::string a = saved("a", {.dtype = DType::bf16}),
                    b = saved("b", {.seed = 2, .dtype = DType::bf16}), c = saved("c", {.seed = 3});
  average({a, b}, scratch_.file("narrow"));
  average({a, c}, scratch_.file("wide"));
  for (const auto& [name, bytes] : test::tensors_of(scratch_.file("narrow")))
    EXPECT_TRUE(bytes.starts_with("bf16")) << name;
  for (const auto& [name, bytes] : test::tensors_of(scratch_.file("wide")))
    EXPECT_TRUE(bytes.starts_with("f32")) << name;
}

TEST_F(Average, OfOneCheckpointTwiceOrOfUnlikeOnesIsRefused) {
  const std::string a = saved("a", {.tokenizer = "{}"});
  expect_error(ExitCode::usage, {"1 checkpoints were named"},
               [&] { average({a}, scratch_.file("refused")); });
  expect_refused(a, a, {"is named twice"});
  ModelConfig other = test::small_model();
  other.d_ff = 24;
  expect_refused(a, saved("model", {.tokenizer = "{}"}, other), {"model.d_ff=12", "has 24"});
  ModelConfig drops = test::small_model();
  drops.dropout = drops.stochastic_depth = 0.5;
  average({a, saved("drops", {.seed = 2, .tokenizer = "{}"}, drops)}, scratch_.file("mean"));
  expect_refused(a, saved("tokenizer", {.seed = 2, .tokenizer = "[]"}), {"different tokenizers"});
  expect_refused(a, saved("task", {.notes = R"({"task": "sft"})", .tokenizer = "{}"}),
                 {"different things of their tasks", "sft"});
  expect_refused(a, scratch_.file("nowhere"), {"nowhere"});
}

}  // namespace
}  // namespace skein::convert
