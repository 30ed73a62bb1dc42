// skein-data on graphs: stores of them, and what one holds.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/core/options/options.h"
#include "skein/core/options/program.h"
#include "skein/core/strings.h"
#include "skein/data/graphs/graph_store.h"

#include "data_options.h"

namespace skein {

inline void run_graphs(const std::vector<std::string>& arguments) {
  data::GraphStoreConfig config;
  RunOptions run;
  Options options("skein-data graphs",
                  "Makes a store of graphs. The INPUTs are folders of DS_A.txt and its kin, JSONL "
                  "of a graph or a node a line, tables of links, or lists of neighbours.");
  bind(options, config);
  options.add("output.path", config.output, "the store to write");
  add_replace(options, config.replace);
  add_run(options, run);
  if (!parsed(options, arguments)) return;
  config.files.inputs = options.words();
  config.threads = run.threads;
  const data::GraphCounts made = write_graph_store(config);
  if (run.quiet) return;
  log::info("{}: {} graphs, {} nodes, {} links, with {}, {:.1f} s", config.output, made.graphs,
            made.nodes, made.links, listed(made.columns), made.seconds);
  if (made.block_accuracy)
    log::info("belief propagation at the true probabilities finds the community of {:.2f}%{}",
              100 * *made.block_accuracy,
              made.graphs > data::kJudgedBlocks
                  ? fmt::format(", in the first {} graphs", data::kJudgedBlocks)
                  : "");
}

// Least, mean and most of what many things have.
struct Spread {
  int64_t things = 0, sum = 0, least = 0, most = 0;
  void add(int64_t value) {
    least = things == 0 ? value : std::min(least, value);
    most = std::max(most, value);
    sum += value;
    ++things;
  }
  std::string text() const {
    return fmt::format("{}, {} to {}, mean {:.2f}", sum, least, most,
                       ratio(sum, std::max<int64_t>(1, things)));
  }
};

inline void show_graphs(const std::shared_ptr<const data::Records>& records) {
  const data::GraphRecords graphs(records);
  Spread nodes, links, degrees;
  int64_t alone = 0, loops = 0;
  for (int64_t i = 0; i < graphs.count(); ++i) {
    const data::GraphLinks of = graphs.links(i);
    nodes.add(graphs.nodes(i));
    links.add(std::ssize(of.columns));
    for (int64_t node = 0; node < graphs.nodes(i); ++node) {
      const int64_t begin = of.starts[node], end = of.starts[node + 1];
      degrees.add(end - begin);
      alone += begin == end;
      loops += std::count(of.columns.begin() + begin, of.columns.begin() + end, node);
    }
  }
  fmt::print("nodes         {}\n", nodes.text());
  fmt::print("links         {}\n", links.text());
  fmt::print("a node has    {} to {} links, mean {:.2f}; {} have none\n", degrees.least,
             degrees.most, ratio(degrees.sum, std::max<int64_t>(1, degrees.things)), alone);
  fmt::print("self-loops    {}\n", loops);
}

}  // namespace skein
