#include "skein/ops/links.h"

#include <limits>

#include "skein/core/philox.h"

#include "parts.h"

namespace skein::bench {
namespace {

ops::Links drawn_links(int64_t nodes, int64_t count) {
  std::vector<kernels::Edge> edges;
  for (int64_t e = 0; e < count; ++e) {
    const auto drawn = philox(7, 0, static_cast<uint64_t>(e));
    edges.push_back({drawn[0] % nodes, drawn[1] % nodes});
  }
  return kernels::links_of_edges(edges, nodes, nodes);
}

// Attention of a graph's nodes to those that they are linked to, by ops and as a whole.
class Graph {
 public:
  explicit Graph(const Bench& bench)
      : links_(drawn_links(bench.config.nodes, bench.config.links).to(bench.device)) {
    const ModelConfig& c = bench.run.model;
    const Shape shape{bench.config.nodes, c.n_heads, c.head_width()};
    uint64_t key = 1;
    for (Tensor* x : {&q_, &k_, &v_, &dy_})
      *x = random_values(shape, bench.run.precision(), key++, bench.device);
    products();
    softmax();
  }

  // Rows that links lead to, read once a link.
  double row_bytes() const {
    return static_cast<double>(links_.size() * q_.dim(1) * q_.dim(2) * size_of(q_.dtype()));
  }
  double number_bytes() const { return static_cast<double>(scores_.bytes()); }

  void products() { scores_ = ops::link_dot(Var(q_), Var(k_), links_, 0.125).value(); }
  void softmax() { weights_ = ops::link_softmax(Var(scores_), links_).value(); }
  void sums() const { ops::gather_sum(Var(v_), links_, Var(weights_)); }
  void both_ways() const {
    const Var q = Var::leaf(q_), k = Var::leaf(k_), v = Var::leaf(v_),
              scores = ops::link_dot(q, k, links_, 0.125),
              weights = ops::link_softmax(scores, links_);
    scores.drop_value();
    backward(ops::gather_sum(v, links_, weights), dy_);
  }

 private:
  ops::Links links_;
  Tensor q_, k_, v_, dy_, scores_, weights_;
};

}  // namespace

void bench_links(const Bench& bench) {
  const BenchConfig& c = bench.config;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  require(c.nodes > 0 && c.links > 0 && c.nodes <= kMost && c.links <= kMost,
          "bench.nodes={} and bench.links={} must be from 1 to {}", c.nodes, c.links, kMost);
  check(bench.run.model, 1, false);
  Graph graph(bench);
  const DType dtype = bench.run.precision();
  bench.figures.title(fmt::format("attention over {} links of {} nodes, {} heads of {}, {}",
                                  c.links, c.nodes, bench.run.model.n_heads,
                                  bench.run.model.head_width(), name_of(dtype)));
  Yardsticks yardsticks(bench.device, c);
  const auto add = [&](const char* name, double bytes, const std::function<void()>& work) {
    add_timed(
        bench, {.group = "links", .name = name, .bytes = bytes}, [&] { return yardsticks.copy(); },
        work);
  };
  const double rows = graph.row_bytes(), numbers = graph.number_bytes();
  add("products", rows + numbers, [&] { graph.products(); });
  add("softmax", 2 * numbers, [&] { graph.softmax(); });
  add("sums", rows + numbers, [&] { graph.sums(); });
  add("forward and backward", 6 * rows + 11 * numbers, [&] { graph.both_ways(); });
}

}  // namespace skein::bench
