#include "skein/data/graphs/made_graphs.h"

#include <algorithm>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/data/samples/draws.h"

#include "graph_builder.h"

namespace skein::data {
namespace {

constexpr int64_t kCircle = 41;
constexpr int64_t kSkips[] = {2, 3, 4, 5, 6, 9, 11, 12, 13, 16};
constexpr int64_t kMostBlockNodes = 20'000;
constexpr int64_t kMostGraphs = 1'000'000, kMostMadeNodes = int64_t{1} << 24;

// A permutation of the nodes of graph `number`.
std::vector<int64_t> shuffled(int64_t nodes, uint64_t seed, int64_t number) {
  const uint64_t key = derive_key(seed, "graphs.make");
  std::vector<int64_t> order(nodes);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {},
                    [&](int64_t node) { return std::pair(philox(key, number, node)[0], node); });
  return order;
}

ReadGraph skip_circle(int64_t skip, const MadeGraphsConfig& config, int64_t number,
                      GraphBuilder& into) {
  ReadGraph made{.graph = {.name = fmt::format("graph {}", number)}};
  made.graph.nodes = kCircle;
  const std::vector<int64_t> place = shuffled(kCircle, config.seed, number);
  for (int64_t node = 0; node < kCircle; ++node)
    for (const int64_t step : {int64_t{1}, skip})
      made.edges.push_back({place[node], place[(node + step) % kCircle], 0});
  made.graph.of(GraphPart::label).ids = {
      into.id(GraphPart::label, fmt::to_string(skip), made.graph.name)};
  return made;
}

ReadGraph blocks(const MadeGraphsConfig& config, int64_t number, GraphBuilder& into) {
  ReadGraph made{.graph = {.name = fmt::format("graph {}", number)}};
  made.graph.nodes = config.communities * config.community_nodes;
  const std::vector<int64_t> place = shuffled(made.graph.nodes, config.seed, number);
  const auto named = [&](GraphPart part, int64_t node) {
    return into.id(part, fmt::to_string(place[node] / config.community_nodes), made.graph.name);
  };
  Draws draws(derive_key(config.seed, "graphs.blocks"), number);
  for (int64_t node = 0; node < made.graph.nodes; ++node) {
    const bool known = place[node] % config.community_nodes == 0;
    made.graph.of(GraphPart::node_category)
        .ids.push_back(known ? named(GraphPart::node_category, node) : -1);
    made.graph.of(GraphPart::node_label).ids.push_back(named(GraphPart::node_label, node));
    for (int64_t other = 0; other < node; ++other) {
      const bool same =
          place[node] / config.community_nodes == place[other] / config.community_nodes;
      if (draws.uniform() < (same ? config.inside : config.outside))
        made.edges.push_back({other, node, 0});
    }
  }
  return made;
}

ReadGraph grid(const MadeGraphsConfig& config, GraphBuilder& into) {
  ReadGraph made{.graph = {.name = "grid"}};
  const auto [height, width] = std::pair(config.height, config.width);
  made.graph.nodes = height * width;
  for (int64_t node = 0; node < made.graph.nodes; ++node) {
    const int64_t y = node / width, x = node % width;
    if (x + 1 < width) made.edges.push_back({node, node + 1, 0});
    if (y + 1 < height) made.edges.push_back({node, node + width, 0});
    made.graph.of(GraphPart::node_label)
        .ids.push_back(into.id(GraphPart::node_label, fmt::to_string((x + y) % 2), "grid"));
  }
  return made;
}

void check(const MadeGraphsConfig& config) {
  require(config.count >= 1 && config.count <= kMostGraphs, "graphs.count={}; it is 1 to {}",
          config.count, kMostGraphs);
  require(config.height >= 1 && config.width >= 1 && config.height <= kMostMadeNodes &&
              config.width <= kMostMadeNodes / config.height,
          "graphs.height={} and graphs.width={} make no grid of 1 to {} nodes", config.height,
          config.width, kMostMadeNodes);
  require(config.communities >= 2 && config.communities <= 1000 && config.community_nodes >= 2 &&
              config.community_nodes <= kMostBlockNodes / config.communities,
          "graphs.communities={} of graphs.community_nodes={}; there are 2 to 1000 communities of "
          "2 nodes and more, of {} nodes in all",
          config.communities, config.community_nodes, kMostBlockNodes);
  for (const auto& [option, value] :
       {std::pair("graphs.inside", config.inside), std::pair("graphs.outside", config.outside)})
    require(value > 0 && value < 1, "{}={}; a probability between 0 and 1 belongs there", option,
            value);
}

}  // namespace

void bind(Options& options, MadeGraphsConfig& c) {
  options.add_choice("graphs.make", c.maker,
                     {{"none", GraphMaker::none},
                      {"skip-links", GraphMaker::skip_links},
                      {"blocks", GraphMaker::blocks},
                      {"grid", GraphMaker::grid}},
                     "graphs that are made instead of read: ten classes of circles with skips, "
                     "communities, or a grid");
  options.add("graphs.count", c.count, "skip-links: graphs of each class; blocks: graphs",
              "graphs");
  options.add("graphs.communities", c.communities, "blocks: communities of a graph");
  options.add("graphs.community_nodes", c.community_nodes, "blocks: nodes of each", "nodes");
  options.add("graphs.inside", c.inside, "blocks: probability of a link within a community");
  options.add("graphs.outside", c.outside, "blocks: probability of a link between two");
  options.add("graphs.height", c.height, "grid: its rows", "nodes");
  options.add("graphs.width", c.width, "grid: its columns", "nodes");
}

GraphSet made_graphs(const MadeGraphsConfig& config) {
  check(config);
  const GraphFilesConfig plain;
  GraphBuilder builder(plain);
  if (config.maker == GraphMaker::grid) {
    builder.add(grid(config, builder));
    return builder.finish();
  }
  if (config.maker == GraphMaker::blocks) {
    for (int64_t i = 0; i < config.count; ++i) builder.add(blocks(config, i, builder));
    return builder.finish();
  }
  for (int64_t i = 0; i < config.count; ++i)
    for (const int64_t skip : kSkips)
      builder.add(skip_circle(skip, config,
                              i * std::ssize(kSkips) + (std::ranges::find(kSkips, skip) - kSkips),
                              builder));
  return builder.finish();
}

}  // namespace skein::data
