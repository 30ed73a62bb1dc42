// Memory networks against numpy, their gradients, and what no padding or moment may change.
#include "skein/models/memory_network/memory_network.h"

#include <fstream>
#include <numeric>

#include "skein/comm/local.h"
#include "skein/core/json.h"
#include "skein/models/description.h"
#include "skein/nn/attention_watcher.h"

#include "support/drawn_attention.h"
#include "support/expect_error.h"
#include "support/gradient_check.h"

namespace skein {
namespace {

using nlohmann::json;

constexpr int64_t kWords = 11, kWide = 5, kMemories = 4;

ModelConfig small(int64_t hops) {
  ModelConfig made;
  made.architecture = &memory_architecture();
  made.vocab_size = kWords;
  made.d_model = kWide;
  made.n_layers = hops;
  made.init_std = 0.5;
  memory_options(made).memories = kMemories;
  made.architecture->begin_labels(made, Head::sequence, kWords);
  return made;
}

data::Batch batch_of(const json& golden) {
  std::vector<int32_t> tokens, segments;
  for (const auto& row : golden["tokens"]) tokens.insert(tokens.end(), row.begin(), row.end());
  for (const auto& row : golden["segments"])
    segments.insert(segments.end(), row.begin(), row.end());
  const Shape shape{2, std::ssize(tokens) / 2};
  data::Batch made;
  made.tokens = Tensor::from(tokens, shape);
  made.segments = Tensor::from(segments, shape);
  made.positions = Tensor::zeros(shape, DType::i32);
  made.targets = Tensor::from(std::vector<int32_t>{4, 9}, {2, 1});
  made.weights = Tensor::from(std::vector<float>{1, 0.5}, {2, 1});
  made.sample_ids = Tensor::from(std::vector<int64_t>{4, 9}, {2});
  return made;
}

json golden() { return json::parse(std::ifstream("models/memory_network.golden.json")); }

// What each hop weighs, by sample and age.
struct Weights : AttentionWatcher {
  void see(const SeenAttention&) override { ADD_FAILURE() << "there is no other attention here"; }
  void see(const SeenLinks& seen) override {
    EXPECT_EQ(seen.block, std::ssize(hops));
    const int64_t slots = seen.links.column_count() / 2;
    std::vector<double> made(2 * kMemories);
    for (int64_t e = 0; e < seen.links.size(); ++e) {
      const int64_t slot = seen.links.columns.data<int32_t>()[e], sample = slot / slots;
      EXPECT_EQ(seen.links.rows.data<int32_t>()[e], sample);
      made[sample * kMemories + slot % slots] = seen.weights.data<double>()[e];
    }
    hops.push_back(made);
  }
  std::vector<std::vector<double>> hops;
};

struct Net {
  std::unique_ptr<Group> alone = single_rank();
  Parameters parameters{DType::f64, 0, 1};
  std::unique_ptr<Model> model;

  explicit Net(const ModelConfig& c)
      : model(c.architecture->piece(c, whole_piece(c), false, parameters)) {
    check(c, 1, false);
    parameters.allocate(true);
    parameters.initialize(3);
  }
  LossPass pass(const data::Batch& batch) const {
    LossPass made;
    made.tp = alone.get();
    made.batch = &batch;
    made.train = true;
    return made;
  }
  Tensor scores(const data::Batch& batch, AttentionWatcher* watcher = nullptr) const {
    Pass made = pass(batch);
    made.watcher = watcher;
    return model->scorer()->label_scores(model->forward({}, made), made).value();
  }
  void set(const std::string& name, const json& numbers) {
    Parameter* const p = parameters.find(name);
    ASSERT_NE(p, nullptr) << name;
    p->value.copy_from(Tensor::from(numbers.get<std::vector<double>>(), p->shape));
  }
};

void expect_golden(const json& all, const json& one) {
  const auto hops = std::ssize(one["tables"]) - 1;
  ModelConfig c = small(hops);
  c.tie_embeddings = one["tied"];
  memory_options(c).word_order = one["word_order"];
  memory_options(c).weights = one["linear"] ? HopWeights::linear : HopWeights::softmax;
  Net net(c);
  net.set("embedding.words.weight", one["tables"][0]);
  net.set("block.0.input.times.weight", one["times"][0]);
  for (int64_t hop = 0; hop < hops; ++hop) {
    const std::string output = fmt::format("block.{}.output.", hop);
    net.set(output + "words.weight", one["tables"][hop + 1]);
    net.set(output + "times.weight", one["times"][hop + 1]);
  }
  if (!c.tie_embeddings) net.set("head.weight", one["head"]);
  Weights weights;
  const Tensor logits = net.scores(batch_of(all), &weights);
  ASSERT_EQ(std::ssize(weights.hops), hops);
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t w = 0; w < kWords; ++w)
      EXPECT_NEAR(logits.data<double>()[b * kWords + w], one["logits"][b][w].get<double>(), 1e-12);
    for (int64_t hop = 0; hop < hops; ++hop)
      for (int64_t age = 0; age < kMemories; ++age)
        EXPECT_NEAR(weights.hops[hop][b * kMemories + age],
                    one["weights"][b][hop][age].get<double>(), 1e-12);
  }
}

TEST(MemoryNetwork, IsThatOfNumpy) {
  const json all = golden();
  ASSERT_EQ(all["cases"].size(), 3u);
  for (const json& one : all["cases"]) expect_golden(all, one);
}

TEST(MemoryNetwork, HasItsGradients) {
  const data::Batch batch = batch_of(golden());
  for (const HopWeights kind : {HopWeights::softmax, HopWeights::linear})
    for (const bool tied : {true, false}) {
      ModelConfig c = small(2);
      c.tie_embeddings = tied;
      memory_options(c).weights = kind;
      memory_options(c).word_order = tied;
      Net net(c);
      const LossPass pass = net.pass(batch);
      const auto objective = net.model->objective();
      const auto total = [&](const Losses& losses) {
        const auto rows = test::values_of(losses.rows.value()),
                   weights = test::values_of(losses.row_weights);
        return std::inner_product(rows.begin(), rows.end(), weights.begin(), 0.0);
      };
      const Losses losses = objective->losses(net.model->forward({}, pass), pass);
      backward(losses.rows, losses.row_weights);
      int64_t learnt = 0;
      for (const Parameter& p : net.parameters.all()) {
        if (p.tied()) continue;
        learnt += p.value.size();
        for (const Parameter& second : net.parameters.all())
          if (second.tied_to == p.name)
            for (int64_t i = 0; i < p.value.size(); ++i)
              p.gradient.data<double>()[i] += second.gradient.data<double>()[i];
        test::compare_with_differences(
            p.value, p.gradient,
            [&] {
              const NoGrad no_grad;
              return total(objective->losses(net.model->forward({}, pass), pass));
            },
            1e-6, p.name, 3);
      }
      EXPECT_EQ(learnt, c.parameters());
    }
}

// A story alone, or with others and their padding.
TEST(MemoryNetwork, SamplesDoNotMeet) {
  const data::Batch both = batch_of(golden());
  const Net net(small(3));
  const Tensor together = net.scores(both);
  for (int64_t b = 0; b < 2; ++b) {
    const data::Batch one = data::batch_rows(both, b, b + 1);
    EXPECT_EQ(test::bytes_of(net.scores(one)), test::bytes_of(together.rows(b, b + 1)));
  }
}

// A question without a sentence before it is answered too.
TEST(MemoryNetwork, NothingToRemember) {
  data::Batch batch = batch_of(golden());
  for (int32_t& segment : batch.segments.span<int32_t>()) segment = segment < 0 ? -1 : 0;
  for (const double score : test::values_of(Net(small(2)).scores(batch)))
    EXPECT_TRUE(std::isfinite(score));
}

TEST(MemoryNetwork, TablesAreTiedAsTheyShouldBe) {
  ModelConfig c = small(2);
  EXPECT_EQ(tensor_shapes(c, whole_piece(c)),
            (TensorShapes{{"embedding.words.weight", {11, 5}},
                          {"block.0.input.times.weight", {4, 5}},
                          {"block.0.output.words.weight", {11, 5}},
                          {"block.0.output.times.weight", {4, 5}},
                          {"block.1.output.words.weight", {11, 5}},
                          {"block.1.output.times.weight", {4, 5}}}));
  c.tie_embeddings = false;
  EXPECT_TRUE(tensor_shapes(c, whole_piece(c)).contains("head.weight"));
}

TEST(MemoryNetwork, RefusesOptionsOfOthers) {
  ModelConfig c = small(2);
  c.labels = 3;
  test::expect_error(ExitCode::usage,
                     {"model.labels=3 must be model.vocab_size=11; leave both out"},
                     [&] { check(c, 1, false); });
  ModelConfig gpt;
  gpt.vocab_size = 11;
  memory_options(gpt).memories = 3;
  test::expect_error(ExitCode::usage,
                     {"model.memories=3 is for model.architecture=memory, not gpt; leave it out"},
                     [&] { check(gpt, 1, false); });
}

}  // namespace
}  // namespace skein
