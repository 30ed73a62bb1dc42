// Pairs of nodes that are linked or not: how links are divided, what is hidden, what is drawn.
#include "skein/data/graphs/link_pairs.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

#include "skein/data/graphs/graph_samples.h"

#include "data/graphs/graph_fixtures.h"
#include "support/expect_error.h"

namespace skein {
namespace {

using namespace data;
using test::expect_error;

constexpr int64_t kNodes = 30;

// A ring with chords, whose links have kinds, and a graph of all links between four nodes.
std::string ring_line() {
  std::string line = R"({"nodes":30,"edges":[)";
  for (int64_t node = 0; node < kNodes; ++node) {
    line += fmt::format("{}[{},{},\"x\"]", node ? "," : "", node, (node + 1) % kNodes);
    if (node % 3 == 0) line += fmt::format(",[{},{},\"y\"]", node, (node + 7) % kNodes);
  }
  return line + "]}\n";
}
constexpr const char* kAll =
    R"({"nodes":4,"edges":[[0,1,"x"],[0,2,"x"],[0,3,"y"],[1,2,"x"],[1,3,"x"],[2,3,"x"]]}
)";

class LinkPairs : public testing::Test {
 protected:
  GraphBlend blend(const std::string& lines, GraphStoreConfig config = {}) const {
    test::write_file(folder_.file("graphs.jsonl"), lines);
    config.files.inputs = {folder_.file("graphs.jsonl")};
    config.output = folder_.file("graphs.h5");
    config.replace = true;
    write_graph_store(config);
    GraphBlend made;
    made.parts.emplace_back(std::make_shared<const Records>(config.output));
    made.weights = {1};
    return made;
  }
  static GraphStoreConfig divided(uint64_t seed = 1) {
    GraphStoreConfig made;
    made.split.link_fractions = {"0.7", "0.1", "0.2"};
    made.split.seed = seed;
    return made;
  }
  static std::set<NodePair> pairs_of(const GraphBlend& graphs, GraphUse use) {
    const auto units = link_units(graphs, use);
    return {units.at(0).pairs.begin(), units.at(0).pairs.end()};
  }
  test::Scratch folder_;
};

TEST_F(LinkPairs, AreDividedByFractions) {
  const GraphBlend graphs = blend(ring_line(), divided());
  const auto training = pairs_of(graphs, GraphUse::training),
             validation = pairs_of(graphs, GraphUse::validation),
             test = pairs_of(graphs, GraphUse::test);
  EXPECT_EQ(training.size(), 28u);
  EXPECT_EQ(validation.size(), 4u);
  EXPECT_EQ(test.size(), 8u);
  std::set<NodePair> all = training;
  all.insert(validation.begin(), validation.end());
  all.insert(test.begin(), test.end());
  EXPECT_EQ(all.size(), 40u) << "no pair is of two parts";
  EXPECT_EQ(all, pairs_of(graphs, GraphUse::all));
  EXPECT_EQ(pairs_of(blend(ring_line(), divided()), GraphUse::test), test);
  EXPECT_NE(pairs_of(blend(ring_line(), divided(2)), GraphUse::test), test);
}

// What a model is given of a graph has no link of validation or test, either way round.
TEST_F(LinkPairs, ThatAreHeldOutAreNotInTheGraph) {
  GraphStoreConfig config = divided();
  const GraphBlend graphs = blend(ring_line(), config);
  GraphForm form = graph_form(graphs, {}, {.link_parts = true});
  form.of_nodes = true;
  std::map<NodePair, int32_t> kind;
  const GraphLinks links = graphs.parts[0].links(0);
  const std::vector<int32_t> kinds = graphs.parts[0].categories(GraphPart::link_category, 0);
  for (int32_t node = 0; node < kNodes; ++node)
    for (int64_t e = links.starts[node]; e < links.starts[node + 1]; ++e)
      kind[{node, static_cast<int32_t>(links.columns[e])}] = kinds[e];
  for (const GraphUse use : {GraphUse::training, GraphUse::validation, GraphUse::test}) {
    const GraphSamples samples(graphs, link_units(graphs, use), form, {.hides_links = true});
    const Batch batch = samples.batch(0, 1);
    std::set<NodePair> seen;
    for (int64_t i = 0; i < batch.links.dim(1); ++i) {
      const int32_t* const link = batch.links.data<int32_t>() + 2 * i;
      if (link[0] < 0) continue;
      seen.insert(std::minmax(link[0], link[1]));
      EXPECT_EQ(batch.link_kinds.data<int32_t>()[i], (kind.at({link[0], link[1]})));
    }
    EXPECT_EQ(seen, pairs_of(graphs, GraphUse::training));
  }
  const GraphSamples whole(graphs, chosen_units(graphs, form, {.unlabelled = true}), form,
                           {.labelled = false});
  EXPECT_EQ(whole.batch(0, 1).links.data<int32_t>()[2 * 79], 29) << "else all 80 are there";
}

TEST_F(LinkPairs, OfNodesWithThemselvesAreSeenAndNotAsked) {
  GraphStoreConfig config = divided();
  config.files.self_loops = SelfLoops::add;
  const GraphBlend graphs = blend(R"({"nodes":3,"edges":[[0,1],[1,2]]})"
                                  "\n",
                                  config);
  EXPECT_EQ(pairs_of(graphs, GraphUse::all), (std::set<NodePair>{{0, 1}, {1, 2}}));
  const std::vector<bool> seen = links_in_sight(graphs.parts[0], 0);
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_TRUE(seen.front());
  EXPECT_TRUE(seen.back());
}

TEST_F(LinkPairs, WithoutALinkAreDrawnByTheirNumberAlone) {
  const GraphBlend graphs = blend(ring_line(), divided());
  const std::vector<NodePair> all = link_units(graphs, GraphUse::test).at(0).all_pairs;
  const auto few = pairs_apart(all, kNodes, 10, 7, 3), many = pairs_apart(all, kNodes, 2000, 7, 3);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_NE(pairs_apart(all, kNodes, 10, 7, 4), few);
  EXPECT_NE(pairs_apart(all, kNodes, 10, 8, 3), few);
  const auto linked = pairs_of(graphs, GraphUse::all);
  std::map<NodePair, int64_t> times;
  for (const NodePair& pair : many) {
    EXPECT_LT(pair.first, pair.second);
    EXPECT_FALSE(linked.contains(pair));
    ++times[pair];
  }
  EXPECT_GT(times.size(), 370u) << "of 395, each 5 times in the mean";
  for (const auto& [pair, count] : times) EXPECT_LT(count, 22);
}

TEST_F(LinkPairs, OfLearningMayBeHeldOutOnesThoseOfJudgingAreNot) {
  const GraphBlend graphs = blend(ring_line(), divided());
  GraphForm form = graph_form(graphs, {}, {});
  form.of_nodes = true;
  const auto samples = [&](GraphUse use, OrderKind order) {
    return GraphSamples(graphs, link_units(graphs, use), form,
                        {.order = order, .hides_links = true});
  };
  const auto hidden = pairs_of(graphs, GraphUse::test), linked = pairs_of(graphs, GraphUse::all);
  const GraphSamples learnt = samples(GraphUse::training, OrderKind::shuffled);
  int64_t met = 0;
  for (int64_t epoch = 0; epoch < 40; ++epoch)
    for (const NodePair& pair : learnt.pairs(0, epoch)) met += hidden.contains(pair);
  EXPECT_GT(met, 10) << "who learns does not know of them";
  const auto apart = [&](GraphUse use) {
    const std::vector<NodePair> all = samples(use, OrderKind::once).pairs(0);
    return std::set<NodePair>(all.begin() + std::ssize(all) / 2, all.end());
  };
  const auto of_validation = apart(GraphUse::validation), of_test = apart(GraphUse::test);
  for (const NodePair& pair : of_test) EXPECT_FALSE(linked.contains(pair));
  EXPECT_FALSE(std::ranges::includes(of_test, of_validation)) << "each has its own";
}

// Where almost all pairs are linked the ones that are not are found all the same.
TEST_F(LinkPairs, OfAlmostFullGraphsAreFound) {
  std::string line = R"({"nodes":60,"edges":[)";
  for (int64_t low = 0; low < 60; ++low)
    for (int64_t high = low + 1; high < 60; ++high)
      if (low != 59 && !(low == 20 && high == 41))
        line += fmt::format("{}[{},{}]", low || high > 1 ? "," : "", low, high);
  const GraphBlend graphs = blend(line + "]}\n", divided());
  for (const NodePair& pair :
       pairs_apart(link_units(graphs, GraphUse::all).at(0).all_pairs, 60, 50, 1, 1))
    EXPECT_EQ(pair, (NodePair{20, 41}));
}

TEST_F(LinkPairs, AreDrawnAnewInEachEpochWhereTheyAreLearnt) {
  const GraphBlend graphs = blend(ring_line(), divided());
  GraphForm form = graph_form(graphs, {}, {});
  form.of_nodes = true;
  const GraphSamples samples(graphs, link_units(graphs, GraphUse::training), form,
                             {.seed = 5, .order = OrderKind::shuffled, .hides_links = true});
  EXPECT_EQ(samples.places(), 56);
  const Batch first = samples.batch(0, 1), next = samples.batch(1, 1);
  const auto pairs = [](const Batch& batch) {
    const auto all = batch.source.links.span<int32_t>();
    return std::vector<int32_t>(all.begin(), all.end());
  };
  const std::vector<int32_t> now = pairs(first), then = pairs(next);
  EXPECT_TRUE(std::equal(now.begin(), now.begin() + 56, then.begin()))
      << "the linked ones are always the same";
  EXPECT_NE(now, then);
  EXPECT_EQ(pairs(first), pairs(samples.batch(0, 1)));
  EXPECT_EQ(first.targets.shape(), (Shape{1, 56}));
  EXPECT_EQ(first.targets.span<int32_t>()[27], 1);
  EXPECT_EQ(first.targets.span<int32_t>()[28], 0);
  EXPECT_EQ(first.places.shape(), (Shape{1, 1}));
  EXPECT_EQ(trimmed(first, 1).source.links.shape(), (Shape{1, 56, 2}));
}

TEST_F(LinkPairs, RefuseWhatHasNone) {
  expect_error(ExitCode::usage,
               {"graphs.h5 does not say which links are for training", "graphs.link_fractions"},
               [&] { (void)link_units(blend(ring_line()), GraphUse::test); });
  expect_error(ExitCode::usage,
               {"all 4 nodes of graph 1 of", "are linked with each other", "no pair without a"},
               [&] { (void)link_units(blend(ring_line() + kAll, divided()), GraphUse::training); });
  GraphStoreConfig config = divided();
  config.split.link_fractions = {"0.7", "0.1"};
  expect_error(ExitCode::usage, {"graphs.link_fractions=", "are 2 with the sum 0.8"},
               [&] { (void)blend(ring_line(), config); });
  config.split.link_fractions = {"0.7", "x", "0.2"};
  expect_error(ExitCode::usage, {"\"x\" is no fraction"},
               [&] { (void)blend(ring_line(), config); });
}

// Positions are made of all links.
TEST_F(LinkPairs, HaveNoPositionsBeside) {
  GraphStoreConfig config = divided();
  config.positions = {.laplacian = 2, .walks = 2, .colours = 1, .distances = true};
  const GraphBlend graphs = blend(ring_line(), config);
  const GraphUses all{true, false};
  EXPECT_EQ(inputs_beside_links(graphs.parts[0], {}, all),
            (std::vector<std::string>{"link_category"}));
  EXPECT_EQ(inputs_beside_links(graphs.parts[0], {}, {}), (std::vector<std::string>{"one"}));
  for (const char* column : {"node_laplacian", "node_walk", "node_colour", "pair_distance"})
    expect_error(ExitCode::usage, {column, "is made of all links", "graph.target=links hides"},
                 [&] { (void)inputs_beside_links(graphs.parts[0], {column}, all); });
  expect_error(ExitCode::usage, {"graphormer reads distances", "are made of all"}, [&] {
    (void)inputs_beside_links(graphs.parts[0], {}, {true, true});
  });
}

}  // namespace
}  // namespace skein
