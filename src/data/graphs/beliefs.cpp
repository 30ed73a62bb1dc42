// Belief propagation in the stochastic block model, whose links say something, and those that are
// not there a little.
//
// A message of node j to node i says what j is, going by all but i; of links that are not there the
// belief of j stands for it, which is right up to 1 / nodes. Log-probabilities throughout.
#include <algorithm>
#include <cmath>
#include <span>

#include "skein/data/graphs/made_graphs.h"

namespace skein::data {
namespace {

constexpr int kMostSweeps = 200;
constexpr double kStill = 1e-6;

class Beliefs {
 public:
  Beliefs(const Graph& graph, const MadeGraphsConfig& config)
      : graph_(graph),
        known_(graph.of(GraphPart::node_category).ids),
        kinds_(config.communities),
        inside_(config.inside),
        outside_(config.outside),
        beliefs_(graph.nodes * kinds_, 1.0 / kinds_),
        messages_(graph.links() * kinds_, 1.0 / kinds_),
        absent_(kinds_) {
    for (int64_t node = 0; node < graph.nodes; ++node) put(node);
  }

  // The likeliest community of each node.
  std::vector<int64_t> likeliest() {
    for (int sweep = 0; sweep<kMostSweeps&& this->sweep()> kStill; ++sweep) continue;
    std::vector<int64_t> made;
    for (int64_t node = 0; node < graph_.nodes; ++node) {
      const double* const belief = &beliefs_[node * kinds_];
      made.push_back(std::max_element(belief, belief + kinds_) - belief);
    }
    return made;
  }
  bool known(int64_t node) const { return known_[node] < kinds_; }

 private:
  double there(double probability) const {
    return std::log(outside_ + (inside_ - outside_) * probability);
  }
  double not_there(double probability) const {
    return std::log(1 - outside_ - (inside_ - outside_) * probability);
  }

  // Adds what all nodes say by not being linked, with a sign.
  void count_absent(int64_t node, double sign) {
    for (int64_t kind = 0; kind < kinds_; ++kind)
      absent_[kind] += sign * not_there(beliefs_[node * kinds_ + kind]);
  }
  // The belief of a node as it is at first.
  void put(int64_t node) {
    if (known(node))
      for (int64_t kind = 0; kind < kinds_; ++kind)
        beliefs_[node * kinds_ + kind] = kind == known_[node] ? 1 : 0;
    count_absent(node, 1);
  }

  // Where the link from `other` back to `node` is.
  int64_t way_back(int64_t node, uint32_t other) const {
    const auto begin = graph_.link_to.begin();
    return std::lower_bound(begin + graph_.link_starts[other],
                            begin + graph_.link_starts[other + 1], node) -
           begin;
  }

  // All nodes one after the other. Returns the most that a belief has changed.
  double sweep() {
    double moved = 0;
    for (int64_t node = 0; node < graph_.nodes; ++node) {
      std::vector<double> logs = logs_of(node);
      for (uint32_t e = graph_.link_starts[node]; e < graph_.link_starts[node + 1]; ++e) {
        std::vector<double> without = logs;
        for (int64_t kind = 0; kind < kinds_; ++kind)
          without[kind] -= there(messages_[e * kinds_ + kind]);
        set(node, without, &messages_[way_back(node, graph_.link_to[e]) * kinds_]);
      }
      count_absent(node, -1);
      moved = std::max(moved, set(node, logs, &beliefs_[node * kinds_]));
      count_absent(node, 1);
    }
    return moved;
  }

  std::vector<double> logs_of(int64_t node) const {
    std::vector<double> logs = absent_;
    for (int64_t kind = 0; kind < kinds_; ++kind) {
      logs[kind] -= not_there(beliefs_[node * kinds_ + kind]);
      for (uint32_t e = graph_.link_starts[node]; e < graph_.link_starts[node + 1]; ++e)
        logs[kind] += there(messages_[e * kinds_ + kind]) -
                      not_there(beliefs_[graph_.link_to[e] * kinds_ + kind]);
    }
    return logs;
  }

  // Probabilities of what is known, or of logs. Returns the most that one has changed.
  double set(int64_t node, const std::vector<double>& logs, double* to) const {
    const double largest = *std::ranges::max_element(logs);
    double sum = 0, moved = 0;
    for (const double log : logs) sum += std::exp(log - largest);
    for (int64_t kind = 0; kind < kinds_; ++kind) {
      const double now =
          known(node) ? (kind == known_[node] ? 1.0 : 0.0) : std::exp(logs[kind] - largest) / sum;
      moved = std::max(moved, std::abs(now - to[kind]));
      to[kind] = now;
    }
    return moved;
  }

  const Graph& graph_;
  const std::vector<int32_t>& known_;  // the community, or what is beyond all
  int64_t kinds_;
  double inside_, outside_;
  std::vector<double> beliefs_;   // [nodes,kinds]
  std::vector<double> messages_;  // [links,kinds]: what each node hears by its links
  std::vector<double> absent_;    // [kinds]
};

}  // namespace

double block_accuracy(const GraphSet& blocks, const MadeGraphsConfig& config) {
  double right = 0, all = 0;
  const int64_t count = std::min(std::ssize(blocks.graphs), kJudgedBlocks);
  for (const Graph& graph : std::span(blocks.graphs).first(static_cast<size_t>(count))) {
    Beliefs beliefs(graph, config);
    const std::vector<int64_t> likeliest = beliefs.likeliest();
    for (int64_t node = 0; node < graph.nodes; ++node) {
      if (beliefs.known(node)) continue;
      right += likeliest[node] == graph.of(GraphPart::node_label).ids[node] ? 1 : 0;
      ++all;
    }
  }
  return right / all;
}

}  // namespace skein::data
