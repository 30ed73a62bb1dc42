// Tables of links: when they are kept, how much dropout tells apart, and equal bits over threads.
#include <cstring>
#include <omp.h>

#include "skein/comm/local.h"
#include "skein/models/description.h"
#include "skein/models/gnn/gnn.h"

#include "models/small_graphs.h"
#include "support/expect_error.h"

namespace skein {
namespace {

using test::graph_batch;
using test::small_graph_model;

std::vector<int64_t> numbers(const Tensor& keys) {
  return {keys.span<int64_t>().begin(), keys.span<int64_t>().end()};
}

TEST(GraphTables, AreKeptWhereTheGraphIsTheSame) {
  const GraphNeeds needs{.node_ids = test::kGraphIds, .drops = true};
  const KeptGraphInputs kept;
  const auto of = [&](const data::Batch& batch, bool drops = true) {
    GraphNeeds now = needs;
    now.drops = drops;
    return kept.of(batch, now, DType::f32, {});
  };
  const data::Batch first = graph_batch({.nodes = {5}}),
                    later = graph_batch({.nodes = {5}, .first_id = 4 + test::kGraphIds * 15});
  const auto one = of(first), other = of(later), judged = of(later, false);
  EXPECT_EQ(one->links.columns.bytes_data(), other->links.columns.bytes_data());
  EXPECT_EQ(one->categories.ids.bytes_data(), judged->categories.ids.bytes_data());
  EXPECT_FALSE(judged->keys.defined());
  for (const auto& [batch, found] : {std::pair(&first, &one), std::pair(&later, &other)}) {
    const GraphInputs made = graph_inputs(*batch, needs, DType::f32, {});
    EXPECT_EQ(numbers((*found)->keys), numbers(made.keys));
    EXPECT_EQ(numbers((*found)->categories.keys), numbers(made.categories.keys));
  }
  EXPECT_NE(numbers(one->keys), numbers(other->keys));
  // Other categories, other links, and two graphs at once.
  const auto bags = of(graph_batch({.nodes = {5}, .first_id = 5}));
  EXPECT_NE(one->categories.ids.bytes_data(), bags->categories.ids.bytes_data());
  EXPECT_NE(numbers(bags->categories.keys), numbers(one->categories.keys));
  const auto tree = of(graph_batch({.nodes = {5}, .first_id = 5, .trees = true}));
  EXPECT_EQ(tree->links.size(), 8);
  EXPECT_EQ(of(graph_batch())->links.row_count(), 12);
}

TEST(GraphTables, HaveAKeyForSoManyLinksAndNoMore) {
  constexpr int64_t kMost = int64_t{1} << 24;
  data::Batch batch = data::padded_batch(1, {.length = 1, .segments = true});
  batch.lengths.data<int32_t>()[0] = 1;
  batch.links = Tensor::from(std::vector<int32_t>{0, 0}, {1, 1, 2});
  batch.bags = Tensor::from(std::vector<int32_t>(kMost), {1, 1, kMost});
  const GraphNeeds needs{.node_ids = 1, .drops = true};
  EXPECT_EQ(graph_inputs(batch, needs, DType::f32, {}).categories.links.size(), kMost);
  batch.bags = Tensor::from(std::vector<int32_t>(kMost + 1), {1, 1, kMost + 1});
  test::expect_error(
      ExitCode::usage,
      {"a graph has more than 16777216 links, pairs or categories of nodes, and dropout tells no "
       "more apart; cut it into smaller ones, or set model.dropout=0 and "
       "model.attention_dropout=0"},
      [&] { graph_inputs(batch, needs, DType::f32, {}); });
  GraphNeeds none = needs;
  none.drops = false;
  EXPECT_EQ(graph_inputs(batch, none, DType::f32, {}).categories.links.size(), kMost + 1);
}

// More nodes than are summed as one, with some of many links.
data::Batch large_graph() {
  constexpr int32_t kNodes = 700;
  std::vector<int32_t> links;
  for (int32_t node = 0; node < kNodes; ++node)
    for (int32_t i = 0; i <= (node % 100 == 0 ? 300 : node % 7); ++i) {
      links.push_back(node);
      links.push_back((node * 31 + i * 17) % kNodes);
    }
  data::Batch made = data::padded_batch(1, {.length = kNodes, .places = kNodes, .segments = true});
  made.lengths.data<int32_t>()[0] = kNodes;
  const int64_t count = std::ssize(links) / 2;
  made.links = Tensor::from(links, {1, count, 2});
  made.link_kinds = data::filled(1, count, 1);
  made.link_values = Tensor::zeros({1, count, 1}, DType::f32);
  made.bags = data::filled(kNodes, 2, 0);
  made.features = Tensor::zeros({1, kNodes, test::kGraphNumbers}, DType::f32);
  for (int32_t node = 0; node < kNodes; ++node) {
    made.segments.data<int32_t>()[node] = 0;
    made.bags.data<int32_t>()[2 * node] = node % 9;
    made.bags.data<int32_t>()[2 * node + 1] = node % 4;
    made.features.data<float>()[2 * node] = 0.01F * static_cast<float>(node % 37);
    made.places.data<int32_t>()[node] = node;
    made.targets.data<int32_t>()[node] = node % 3;
    made.weights.data<float>()[node] = 1;
  }
  made.bags = Tensor::from(
      std::vector<int32_t>(made.bags.span<int32_t>().begin(), made.bags.span<int32_t>().end()),
      {1, kNodes, 2});
  return made;
}

// The losses of all rows and the gradients of all tensors.
std::vector<float> learnt(const ModelConfig& config, const data::Batch& batch) {
  const auto alone = single_rank();
  Parameters parameters(DType::f32, 0, 1);
  const auto model = config.architecture->piece(config, whole_piece(config), false, parameters);
  parameters.allocate(true);
  parameters.initialize(3);
  const auto objective = model->objective();
  const data::Batch here = placed(batch, {});
  LossPass pass;
  pass.tp = alone.get();
  pass.batch = &here;
  pass.train = true;
  pass.seed = 5;
  pass.sample_scale = 1;
  const Losses losses = objective->losses(model->forward({}, pass), pass);
  backward(losses.rows, losses.row_weights);
  const auto rows = losses.rows.value().span<float>();
  std::vector<float> made(rows.begin(), rows.end());
  for (const Parameter& p : parameters.all()) {
    const auto gradient = p.gradient.span<float>();
    made.insert(made.end(), gradient.begin(), gradient.end());
  }
  return made;
}

TEST(GraphTables, GiveTheSameBitsToAnyNumberOfThreads) {
  const data::Batch batch = large_graph();
  const int before = omp_get_max_threads();
  for (const LinkScoring score : {LinkScoring::dot, LinkScoring::gat, LinkScoring::gat2,
                                  LinkScoring::mean, LinkScoring::symmetric})
    for (const GraphFormKind form : {GraphFormKind::blocks, GraphFormKind::plain}) {
      ModelConfig config = small_graph_model(score);
      graph_options(config).form = form;
      config.context = 700;
      config.dropout = config.attention_dropout = 0.3;
      omp_set_num_threads(1);
      const std::vector<float> expected = learnt(config, batch);
      for (const int threads : {2, 3, 5}) {
        omp_set_num_threads(threads);
        const std::vector<float> found = learnt(config, batch);
        ASSERT_EQ(found.size(), expected.size());
        EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0)
            << threads << " threads, score " << static_cast<int>(score);
      }
    }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace skein
