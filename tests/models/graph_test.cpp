// What models of graphs say hangs on the graph alone, and what none can be.
#include <algorithm>
#include <cstring>

#include "skein/comm/local.h"
#include "skein/models/description.h"
#include "skein/models/gnn/gnn.h"

#include "models/model_gradients.h"
#include "models/small_graphs.h"
#include "support/expect_error.h"
#include "support/kernel_check.h"

namespace skein {
namespace {

using test::graph_batch;
using test::small_graph_model;
using test::small_graphormer;

std::vector<ModelConfig> models(bool of_nodes) {
  std::vector<ModelConfig> made;
  for (const LinkScoring score : {LinkScoring::dot, LinkScoring::gat, LinkScoring::gat2,
                                  LinkScoring::mean, LinkScoring::symmetric})
    for (const GraphFormKind form : {GraphFormKind::blocks, GraphFormKind::plain}) {
      made.push_back(small_graph_model(score, of_nodes));
      graph_options(made.back()).form = form;
    }
  for (const bool virtual_node : {false, true})
    made.push_back(small_graphormer({of_nodes, virtual_node, virtual_node}));
  for (const size_t drops : {size_t{0}, size_t{9}, size_t{11}})
    made[drops].dropout = made[drops].attention_dropout = 0.4;
  return made;
}

// [B,P,labels]
Tensor scores_of(const ModelConfig& config, const data::Batch& batch, DType dtype) {
  const auto alone = single_rank();
  Parameters parameters(dtype, 0, 1);
  const auto model = config.architecture->piece(config, whole_piece(config), false, parameters);
  parameters.allocate(false);
  parameters.initialize(3);
  const data::Batch here = placed(batch, {});
  Pass pass;
  pass.tp = alone.get();
  pass.batch = &here;
  pass.train = config.drops();
  pass.seed = 5;
  const NoGrad none;
  return model->scorer()->label_scores(model->forward({}, pass), pass).value();
}

// The same graphs with their nodes in another order.
data::Batch permuted_batch(const data::Batch& batch, bool of_nodes) {
  data::Batch made = batch_rows(batch, 0, batch.size());
  for (Tensor* part :
       {&made.links, &made.link_kinds, &made.link_values, &made.bags, &made.features, &made.places})
    *part = part->clone();
  const int64_t length = batch.length(), most = batch.links.dim(1);
  for (int64_t g = 0; g < batch.size(); ++g) {
    const int32_t nodes = batch.lengths.data<int32_t>()[g];
    const auto to = [&](int32_t node) { return (node * 2 + 1) % nodes; };  // nodes are odd
    std::vector<int64_t> order;
    const int32_t* ends = batch.links.data<int32_t>() + g * most * 2;
    for (int64_t link = 0; link < most && ends[2 * link] >= 0; ++link) order.push_back(link);
    std::ranges::stable_sort(order, {}, [&](int64_t link) { return to(ends[2 * link]); });
    for (int64_t i = 0; i < std::ssize(order); ++i) {
      const int64_t from = order[static_cast<size_t>(i)], at = g * most + i;
      made.links.data<int32_t>()[2 * at] = to(ends[2 * from]);
      made.links.data<int32_t>()[2 * at + 1] = to(ends[2 * from + 1]);
      made.link_kinds.data<int32_t>()[at] = batch.link_kinds.data<int32_t>()[g * most + from];
      made.link_values.data<float>()[at] = batch.link_values.data<float>()[g * most + from];
    }
    const auto move = [&](const Tensor& from, const Tensor& into) {
      const int64_t bytes = from.bytes() / (batch.size() * length);
      for (int32_t node = 0; node < nodes; ++node)
        std::memcpy(into.bytes_data() + (g * length + to(node)) * bytes,
                    from.bytes_data() + (g * length + node) * bytes, static_cast<size_t>(bytes));
    };
    move(batch.bags, made.bags);
    move(batch.features, made.features);
    const int64_t places = batch.places.dim(1);
    for (int64_t i = g * places; of_nodes && i < (g + 1) * places; ++i)
      made.places.data<int32_t>()[i] = to(batch.places.data<int32_t>()[i]);
  }
  test::take_distances(made);
  return made;
}

TEST(Graphs, SayTheSameOfNodesInAnotherOrder) {
  for (const bool of_nodes : {true, false})
    for (const ModelConfig& c : models(of_nodes)) {
      if (c.drops()) continue;
      const data::Batch batch = graph_batch({.of_nodes = of_nodes});
      test::expect_near(scores_of(c, permuted_batch(batch, of_nodes), DType::f64),
                        scores_of(c, batch, DType::f64), 1e-12, "scores");
    }
}

// Kinds of links are told of one shortest path, which is another where nodes are in another order;
// in trees there is no other.
TEST(Graphs, OfOnePathAnyTwoSayTheSameInAnotherOrder) {
  for (const bool of_nodes : {true, false}) {
    const ModelConfig c = small_graphormer({.of_nodes = of_nodes});
    const data::Batch batch = graph_batch({.of_nodes = of_nodes, .trees = true});
    test::expect_near(scores_of(c, permuted_batch(batch, of_nodes), DType::f64),
                      scores_of(c, batch, DType::f64), 1e-12, "scores");
  }
}

// Nor does padding, nor where in its batch a graph is; dropout goes by the graph's number.
TEST(Graphs, OthersInTheBatchChangeNoBit) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const bool of_nodes : {true, false})
      for (const ModelConfig& c : models(of_nodes)) {
        const Tensor together = scores_of(
            c, graph_batch({.nodes = {3, 5, 1}, .of_nodes = of_nodes, .length = 9}), dtype);
        const Tensor alone =
            scores_of(c, graph_batch({.nodes = {5}, .of_nodes = of_nodes, .first_id = 5}), dtype);
        const Tensor found = together.rows(1, 2);
        ASSERT_EQ(found.shape(), alone.shape());
        EXPECT_EQ(
            std::memcmp(found.bytes_data(), alone.bytes_data(), static_cast<size_t>(alone.bytes())),
            0);
      }
}

TEST(Graphs, HaveTheirGradients) {
  for (const LinkScoring score : {LinkScoring::dot, LinkScoring::gat, LinkScoring::gat2,
                                  LinkScoring::mean, LinkScoring::symmetric}) {
    ModelConfig c = small_graph_model(score);
    c.dropout = 0.1;
    c.attention_dropout = 0.3;
    graph_options(c).mean_of_bags = score == LinkScoring::gat;
    graph_options(c).hops = score == LinkScoring::gat2 ? 2 : 0;
    test::check_gradients_of(c, graph_batch());
  }
  ModelConfig c = small_graph_model(LinkScoring::dot);
  graph_options(c).numbers = LinkNumbers::multiplied;
  c.norm_placement = NormPlacement::post;
  c.embedding_norm = true;
  test::check_gradients_of(c, graph_batch());
}

TEST(Graphs, OfLinksAloneHaveTheirGradients) {
  ModelConfig c = small_graph_model(LinkScoring::gat);
  graph_options(c).form = GraphFormKind::plain;
  graph_options(c).last_heads = 2;
  c.dropout = 0.3;
  test::check_gradients_of(c, graph_batch());
  graph_options(c).vector_width = 5;
  EXPECT_EQ(c.architecture->features(c), 5);
  test::check_gradients_of(c, graph_batch());
}

TEST(Graphormers, HaveTheirGradients) {
  for (const bool of_nodes : {true, false})
    for (const bool virtual_node : {true, false}) {
      ModelConfig c = small_graphormer({of_nodes, virtual_node});
      c.embedding_norm = virtual_node;
      c.dropout = of_nodes ? 0.1 : 0;
      c.attention_dropout = 0.3;
      test::check_gradients_of(c, graph_batch({.of_nodes = of_nodes}));
    }
  test::check_gradients_of(small_graphormer({.link_kinds = false, .score = LinkScoring::gat}),
                           graph_batch());
}

TEST(Graphs, ThatAreReadWholeHaveTheirGradients) {
  for (const GraphPool pool :
       {GraphPool::mean, GraphPool::sum, GraphPool::max, GraphPool::attention})
    for (const GraphFormKind form : {GraphFormKind::blocks, GraphFormKind::plain}) {
      ModelConfig c = small_graph_model(LinkScoring::dot, false);
      graph_options(c).pool = pool;
      graph_options(c).form = form;
      test::check_gradients_of(c, graph_batch({.of_nodes = false}));
    }
}

// Pairs of any nodes, also one twice and one with itself; behind those of a sample there are none.
data::Batch batch_of_pairs() {
  data::Batch made = graph_batch();
  const std::vector<int32_t> pairs{0, 1, 4, 2, 0, 1, 3, 3, 1, 2, 0, 2, -1, -1, -1, -1};
  made.source.links = Tensor::from(pairs, {2, 4, 2});
  made.places = data::filled(2, 1, 0);
  made.targets = Tensor::from(std::vector<int32_t>{0, 1, 2, 1, 2, 0, 0, 0}, {2, 4});
  made.weights = Tensor::from(std::vector<float>{1, 1, 1, 1, 1, 1, 0, 0}, {2, 4});
  return made;
}

TEST(Graphs, ThatTellPairsHaveTheirGradients) {
  for (const GraphFormKind form : {GraphFormKind::blocks, GraphFormKind::plain}) {
    ModelConfig c = small_graph_model(LinkScoring::gat);
    graph_options(c).form = form;
    if (form == GraphFormKind::plain) graph_options(c).vector_width = 5;
    test::check_gradients_of(c, batch_of_pairs());
  }
}

// A pair's scores are the same either way round, wherever it is in the batch.
TEST(Graphs, TellAPairAsItsNodesAre) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const ModelConfig c = small_graph_model(LinkScoring::mean);
    data::Batch batch = batch_of_pairs();
    const Tensor scores = scores_of(c, batch, dtype).to(DType::f32);
    EXPECT_EQ(scores.shape(), (Shape{2, 4, 3}));
    const auto of = [&](int64_t sample, int64_t pair) {
      const float* const from = scores.data<float>() + (sample * 4 + pair) * 3;
      return std::vector<float>(from, from + 3);
    };
    EXPECT_EQ(of(0, 0), of(0, 2));
    EXPECT_NE(of(0, 0), of(0, 1));
    for (int64_t i = 0; i < batch.source.links.size() / 2; ++i)
      std::swap(batch.source.links.data<int32_t>()[2 * i],
                batch.source.links.data<int32_t>()[2 * i + 1]);
    const Tensor turned = scores_of(c, batch, dtype).to(DType::f32);
    EXPECT_TRUE(std::ranges::equal(turned.span<float>(), scores.span<float>()));
  }
}

// The mean of no nodes is 0, as their sum is.
TEST(Graphs, OfNoNodesAreRead) {
  data::Batch batch = graph_batch({.nodes = {0, 3}, .of_nodes = false});
  for (const ModelConfig& c : models(false))
    for (const float score : scores_of(c, batch, DType::f32).to(DType::f32).span<float>())
      EXPECT_TRUE(std::isfinite(score));
}

TEST(Graphs, ThatAreImpossibleAreRefused) {
  const auto refused = [](const std::string& text, auto change) {
    ModelConfig c = small_graph_model(LinkScoring::dot);
    change(c);
    test::expect_error(ExitCode::usage, {text}, [&] { check(c, 1, false); });
  };
  refused("model.node_ids and model.node_numbers are both 0",
          [](ModelConfig& c) { graph_options(c).node_ids = graph_options(c).node_numbers = 0; });
  refused("model.link_kinds=-1 must be 0 to",
          [](ModelConfig& c) { graph_options(c).link_kinds = -1; });
  refused("model.hops=1001 must be 0 to 1000",
          [](ModelConfig& c) { graph_options(c).hops = 1001; });
  refused("model.teleport=1.5 must be in [0, 1]",
          [](ModelConfig& c) { graph_options(c).teleport = 1.5; });
  refused("model.link_score=mean and symmetric have no scores",
          [](ModelConfig& c) { graph_options(c).score = LinkScoring::mean; });
  refused("model.last_heads=2 and model.vector_width=0 are for model.graph_form=plain",
          [](ModelConfig& c) { graph_options(c).last_heads = 2; });
  refused("model.vector_width=3 are for model.graph_form=plain",
          [](ModelConfig& c) { graph_options(c).vector_width = 3; });
  refused("model.vector_width=5000 must be 0 to 4096", [](ModelConfig& c) {
    graph_options(c).form = GraphFormKind::plain;
    graph_options(c).vector_width = 5000;
  });
  refused("puts heads beside each other, so model.d_model=8 must be model.n_heads=4 times",
          [](ModelConfig& c) {
            graph_options(c).form = GraphFormKind::plain;
            c.d_head = 4;
          });
  refused("model.stochastic_depth=0.1", [](ModelConfig& c) {
    graph_options(c).form = GraphFormKind::plain;
    c.stochastic_depth = 0.1;
  });
  refused("gives labels of nodes or graphs", [](ModelConfig& c) { c.head = Head::vocabulary; });
  refused("model.farthest=20, degrees=64 and virtual_node=true are for model.graph_form=graphormer",
          [](ModelConfig& c) { graph_options(c).virtual_node = true; });
  refused("are for models that read texts", [](ModelConfig& c) { c.vocab_size = 5; });
  refused("are for models that read texts",
          [](ModelConfig& c) { c.positions = Positions::rotary; });
  refused("model.mup_base_width=4", [](ModelConfig& c) { c.mup_base_width = 4; });
  ModelConfig other = small_graph_model(LinkScoring::dot);
  other.architecture = architectures().front();
  other.vocab_size = 9;
  test::expect_error(ExitCode::usage, {" is for model.architecture=graph, not gpt; leave it out"},
                     [&] { check(other, 1, false); });
}

TEST(Graphormers, ThatAreImpossibleAreRefused) {
  const auto refused = [](const std::string& text, auto change) {
    ModelConfig c = small_graphormer();
    change(c, graph_options(c));
    test::expect_error(ExitCode::usage, {text}, [&] { check(c, 1, false); });
  };
  refused("model.farthest=254 must be 1 to 253",
          [](ModelConfig&, GraphOptions& own) { own.farthest = 254; });
  refused("model.degrees=-1 must be 0 to 65535",
          [](ModelConfig&, GraphOptions& own) { own.degrees = -1; });
  refused("adds to scores what distances make; leave out model.link_score=mean",
          [](ModelConfig&, GraphOptions& own) {
            own.score = LinkScoring::mean;
            own.link_kinds = 0;
          });
  refused("adds to scores what distances make",
          [](ModelConfig&, GraphOptions& own) { own.numbers = LinkNumbers::multiplied; });
  refused("reads categories of links, but no numbers of theirs (model.link_numbers=1)",
          [](ModelConfig&, GraphOptions& own) { own.link_numbers = 1; });
  refused("model.farthest=2 times model.link_kinds=1500000000 are more than 2147483647 kinds",
          [](ModelConfig&, GraphOptions& own) { own.link_kinds = 1500000000; });
  refused("leave model.graph_pool out",
          [](ModelConfig&, GraphOptions& own) { own.pool = GraphPool::sum; });
  refused("model.last_heads=2 and model.vector_width=0 are for model.graph_form=plain",
          [](ModelConfig&, GraphOptions& own) { own.last_heads = 2; });
}

TEST(Graphs, TakeTheSizesOfTheData) {
  ModelConfig c = small_graph_model(LinkScoring::dot);
  c.context = ModelConfig{}.context;
  graph_options(c).node_ids = graph_options(c).link_kinds = 0;
  c.architecture->take_graphs(c, {7, test::kGraphNumbers, 2, 1, 40, 3.5});
  EXPECT_EQ(graph_options(c).links_per_node, 3.5);
  EXPECT_EQ(graph_options(c).node_ids, 7);
  EXPECT_EQ(graph_options(c).link_kinds, 2);
  EXPECT_EQ(c.context, 40);
  test::expect_error(ExitCode::usage, {"model.node_ids=7, but the graphs have 8"}, [&] {
    c.architecture->take_graphs(c, {8, 2, 2, 1, 40});
  });
  test::expect_error(ExitCode::usage, {"model.context=40, but the largest of these graphs has 41"},
                     [&] {
                       c.architecture->take_graphs(c, {7, 2, 2, 1, 41});
                     });
}

}  // namespace
}  // namespace skein
