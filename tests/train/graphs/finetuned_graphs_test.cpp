// A model of graphs that has learnt one thing learns another: what it made of nodes and links
// stays, and its head where that says the same.
#include <gtest/gtest.h>

#include "skein/train/graphs/graph_task.h"

#include "support/expect_error.h"
#include "train/graphs/graph_config.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::expect_error;

struct AdaptedGraphs {
  PretrainConfig run;
  GraphTaskConfig graphs;
  std::string from;
};

class FinetunedGraphs : public test::TaskRuns<AdaptedGraphs> {
 protected:
  std::unique_ptr<Task> task(AdaptedGraphs& c) const override {
    const auto alone = single_rank();
    const TrainedModel source = open_trained_model(c.from, 0, *alone);
    FinetuneConfig config = finetune_defaults();
    config.run = c.run;
    config.run.model = source.model;
    auto made = finetuned_graph_task(config, c.graphs, source);
    c.run = config.run;
    return made;
  }

  // A run that learns the classes of graphs, in the folder `name`.
  std::string pretrained(const std::string& name, GraphConfig c) const {
    c.run.run.dir = folder_.file(name);
    run_ranks(1, [&](Group& world) {
      const auto made = graph_task(c.run, c.graphs);
      train::train(c.run, *made, world);
    });
    return c.run.run.dir;
  }
  // So short, and at such a rate, that nothing but a new head is another one.
  AdaptedGraphs adapted(const std::string& from, const std::string& store) const {
    AdaptedGraphs c{finetune_defaults().run, {}, from};
    c.run.data.train = {store};
    c.run.train.steps = 1;
    c.run.train.global_batch = 4;
    c.run.lr.lr = 1e-12;
    c.run.run.log_every = 1000;
    c.run.run.tensorboard = false;
    c.run.checkpoint.load = from;
    return c;
  }

  const std::string store_ = write_graphs(folder_.file("graphs.h5"));
};

double difference(const State& left, const State& right, const std::string& name) {
  const auto floats = [&](const State& state) {
    const auto& bytes = state.at(name);
    std::vector<float> made(bytes.size() / sizeof(float));
    std::memcpy(made.data(), bytes.data(), bytes.size());
    return made;
  };
  const std::vector<float> one = floats(left), other = floats(right);
  if (one.size() != other.size()) return 1e9;
  double most = 0;
  for (size_t i = 0; i < one.size(); ++i)
    most = std::max<double>(most, std::abs(one[i] - other[i]));
  return most;
}

TEST_F(FinetunedGraphs, KeepTheHeadOfTheSameClasses) {
  GraphConfig c = small_graph_run(store_);
  c.run.train.steps = 100;
  const std::string from = pretrained("classes", c);
  const Scores scores = run(adapted(from, store_), 1, "same").validation;
  EXPECT_EQ(value(scores, "accuracy"), 1) << scores.text;
}

TEST_F(FinetunedGraphs, OfOtherLabelsGetAnotherHead) {
  const std::string from = pretrained("start", small_graph_run(store_)),
                    numbers = write_graphs(folder_.file("numbers.h5"), {.numbers = true});
  AdaptedGraphs c = adapted(from, numbers);
  const Scores scores = run(c, 1, "numbers").validation;
  EXPECT_NE(scores.text.find("root mean squared error"), std::string::npos) << scores.text;
  const State before = state_of(from), after = state_of(folder_.file("numbers"));
  for (const char* name : {"embedding.nodes.weight", "block.0.links.q.weight", "final_norm.gain"})
    EXPECT_LT(difference(before, after, std::string("param/") + name), 1e-6) << name;
  EXPECT_GT(difference(before, after, "param/classifier.weight"), 1e-3);
  // It learns, and goes on where it was.
  c.run.train.steps = 60;
  c.run.lr.lr = 5e-3;
  EXPECT_LT(value(run(c, 1, "learnt").validation, "rmse"), 1) << scores.text;
  c.run.train.steps = 6;
  expect_to_go_on_with_equal_bits(c);
}

// Columns, their categories and random numbers are those that the model has learnt.
TEST_F(FinetunedGraphs, ReadWhatTheyReadBefore) {
  GraphConfig c = small_graph_run(store_);
  c.graphs.inputs = {"node_category"};
  const std::string from = pretrained("start", c);
  AdaptedGraphs next = adapted(from, store_);
  EXPECT_FALSE(task(next)->samples().batch(0, 1).features.defined());
  next.graphs.random = 2;
  expect_error(ExitCode::usage, {"graph.inputs and graph.random are those of the model"},
               [&] { task(next); });
  next = adapted(from, write_nodes(folder_.file("nodes.h5")));
  expect_error(ExitCode::usage, {"nodes.h5 has no node_category", "start"}, [&] { task(next); });
  next = adapted(from, write_graphs(folder_.file("other.h5"), {.first_kind = "c"}));
  expect_error(ExitCode::usage, {"the categories of node_category have other names in"},
               [&] { task(next); });
}

TEST_F(FinetunedGraphs, NeedAHead) {
  GraphConfig c = small_graph_run(store_);
  graph_options(c.run.model).form = GraphFormKind::plain;
  AdaptedGraphs next = adapted(pretrained("plain", c), store_);
  expect_error(ExitCode::usage, {"its last layer makes the labels", "model.vector_width"},
               [&] { task(next); });
  graph_options(c.run.model).vector_width = 4;
  next = adapted(pretrained("vectors", c), store_);
  EXPECT_NO_THROW(task(next));
}

}  // namespace
}  // namespace skein::train
