// Models of graphs learn which nodes are linked, to the same bits at every layout, and go on where
// they were.
#include <gtest/gtest.h>

#include "skein/train/graphs/trained_graph_model.h"

#include "support/expect_error.h"
#include "train/graphs/graph_config.h"
#include "train/train_fixture.h"

namespace skein::train {
namespace {

using test::expect_error;

class LinkTasks : public test::TaskRuns<GraphConfig> {
 protected:
  std::unique_ptr<Task> task(GraphConfig& c) const override { return graph_task(c.run, c.graphs); }

  GraphConfig blocks(LinkScoring score = LinkScoring::dot) const {
    GraphConfig c = small_graph_run(store_);
    graph_options(c.run.model).score = score;
    c.run.model.dropout = 0.1;
    c.graphs.target = GraphTarget::links;
    return c;
  }
  GraphConfig plain() const {
    GraphConfig c = blocks(LinkScoring::symmetric);
    graph_options(c.run.model).form = GraphFormKind::plain;
    graph_options(c.run.model).vector_width = 8;
    return c;
  }

  // Two groups of nodes, in which all are linked but for a few.
  std::string groups() const {
    std::ofstream text(folder_.file("groups.jsonl"));
    text << R"({"nodes":[)";
    for (int64_t node = 0; node < 40; ++node) text << (node ? "," : "") << '"' << node << '"';
    text << R"(],"edges":[)";
    std::string comma;
    for (int64_t low = 0; low < 40; ++low)
      for (int64_t high = low + 1; high < 40; ++high)
        if (low / 20 == high / 20 && (low * 7 + high * 3) % 5 > 0) {
          text << comma << '[' << low << ',' << high << ']';
          comma = ",";
        }
    text << "]}\n";
    text.close();
    data::GraphStoreConfig config;
    config.files.inputs = {folder_.file("groups.jsonl")};
    config.split.link_fractions = {"0.7", "0.1", "0.2"};
    config.output = folder_.file("groups.h5");
    config.replace = true;
    data::write_graph_store(config);
    return config.output;
  }

  const std::string store_ = write_graphs(folder_.file("graphs.h5"), {.hides_links = true});
};

TEST_F(LinkTasks, HiddenLinksAreFound) {
  GraphConfig c = plain();
  c.run.data.train = {groups()};
  c.run.train.global_batch = c.run.train.micro_batch = 1;
  c.run.train.steps = 150;
  c.run.model.dropout = 0;
  const Scores scores = run(c, 1, "groups").validation;
  EXPECT_GT(value(scores, "auc"), 0.85) << scores.text;
  EXPECT_EQ(scores.quality, value(scores, "auc"));
  EXPECT_NE(scores.text.find("pairs)"), std::string::npos) << scores.text;
  const auto alone = single_rank();
  const TrainedModel source = open_trained_model(folder_.file("groups"), 0, *alone);
  GraphPartConfig part{{data::GraphUse::validation}};
  const NamedValues found = evaluate_graphs(c.run.data.train, part, source, {}, 1, *alone);
  EXPECT_EQ(value_named(found, "auc"), value(scores, "auc"));
  EXPECT_EQ(value_named(found, "hits_50"), value(scores, "hits_50"));
  part.choice.use = data::GraphUse::test;
  EXPECT_GT(value_named(evaluate_graphs(c.run.data.train, part, source, {}, 1, *alone), "auc"),
            0.85);
  part.choice.fold = 1;
  expect_error(ExitCode::usage, {"graph.fold=1, but", "tells links, which are not divided"},
               [&] { evaluate_graphs(c.run.data.train, part, source, {}, 1, *alone); });
}

TEST_F(LinkTasks, GiveEqualBitsAtEveryLayout) {
  expect_equal_bits(blocks(), "links", {{2, 1, 2}, {4, 1, 1, true}, {1, 2, 1}, {2, 2, 2, true}});
  expect_equal_bits(plain(), "plain", {{2, 1, 1}, {1, 2, 1}, {2, 2, 1, true}});
  GraphConfig c = plain();
  c.run.train.precision = DType::bf16;
  expect_equal_bits(c, "bf16", {{2, 1, 1}, {2, 2, 1, true}});
}

TEST_F(LinkTasks, TensorParallelRanksAgree) {
  GraphConfig c = blocks();
  const Ended expected = run(c);
  c.run.parallel.tensor = 2;
  const Ended found = run(c, 2);
  for (size_t i = 0; i < expected.finished.losses.size(); ++i)
    EXPECT_NEAR(found.finished.losses[i], expected.finished.losses[i], 1e-4);
}

TEST_F(LinkTasks, GoOnWithEqualBits) { expect_to_go_on_with_equal_bits(blocks()); }

TEST_F(LinkTasks, RefuseWhatDoesNotFit) {
  const auto refused = [&](const GraphConfig& c, std::initializer_list<std::string> words) {
    expect_error(ExitCode::usage, words, [&] {
      GraphConfig own = c;
      task(own);
    });
  };
  GraphConfig c = blocks();
  c.run.data.train = {write_graphs(folder_.file("whole.h5"))};
  refused(c, {"whole.h5 does not say which links are for training", "graphs.link_fractions"});
  c = blocks();
  c.graphs.fold = 2;
  refused(c, {"graph.fold=2, but links are not divided in folds"});
  c = blocks();
  c.graphs.inputs = {"node_walk"};
  refused(c, {"graph.inputs names \"node_walk\", which is made of all links"});
  c.graphs.inputs = {};
  graph_options(c.run.model).form = GraphFormKind::graphormer;
  refused(c, {"model.graph_form=graphormer reads distances, which are made of all"});
  graph_options(c.run.model).form = GraphFormKind::blocks;
  c = blocks();
  c.run.model.labels = 3;
  refused(c, {"model.labels=3 are not what these graphs have: 2 a pair of nodes"});
  c = plain();
  graph_options(c.run.model).vector_width = 0;
  refused(c, {"graph.target=links tells pairs by vectors of nodes",
              "since model.vector_width is 0; give model.vector_width=16"});
  c = blocks();
  run(c, 1, "run");
  c.graphs.target = GraphTarget::automatic;
  EXPECT_NE(error_of(c, "run").find("learns the classes apart, linked"), std::string::npos)
      << error_of(c, "run");
}

}  // namespace
}  // namespace skein::train
