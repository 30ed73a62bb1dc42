#include "skein/train/graphs/link_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <span>

#include "skein/core/error.h"
#include "skein/core/files/result_file.h"
#include "skein/core/json.h"
#include "skein/core/numbers.h"
#include "skein/formats/svg_graph.h"
#include "skein/nn/attention_watcher.h"

namespace skein::train {
namespace {

constexpr int64_t kMostDrawn = 100;

struct PartHead {
  int64_t sample, layer, first_head, heads, links;
};

// Of one rank's heads, samples and layers, as bytes.
class LinkRecorder : public AttentionWatcher {
 public:
  void see(const SeenAttention& /*seen*/) override {}
  void see(const SeenLinks& seen) override {
    const kernels::Links links = seen.links.to(Device{});
    const Tensor weights = seen.weights.to(Device{}).to(DType::f64),
                 ids = seen.batch.sample_ids.to(Device{});
    const int64_t rows = links.row_count() / seen.batch.size();
    const auto ahead = narrow<int32_t>(rows - seen.batch.length());  // a virtual node
    const int32_t* const starts = links.starts.data<int32_t>();
    for (int64_t sample = 0; sample < seen.batch.size(); ++sample) {
      const int32_t first = starts[sample * rows], last = starts[(sample + 1) * rows];
      const auto before = narrow<int32_t>(sample * rows) + ahead;
      add(PartHead{ids.data<int64_t>()[sample], seen.block, seen.first_head, weights.dim(1),
                   last - first});
      for (const Tensor& ends : {links.columns, links.rows})
        for (int32_t e = first; e < last; ++e) add(ends.data<int32_t>()[e] - before);
      for (int64_t i = first * weights.dim(1); i < last * weights.dim(1); ++i)
        add(weights.data<double>()[i]);
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <class T>
  void add(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  std::string bytes_;
};

// By sample and layer, and by first head.
using LinkParts = std::map<std::pair<int64_t, int64_t>, std::map<int64_t, WeighedLinks>>;

void unpack_links(const std::string& bytes, LinkParts& parts) {
  size_t at = 0;
  const auto take = [&](void* to, size_t size) {
    std::memcpy(to, bytes.data() + at, size);
    at += size;
  };
  while (at < bytes.size()) {
    PartHead head{};
    take(&head, sizeof head);
    WeighedLinks made{.layer = narrow<int>(head.layer)};
    for (std::vector<int32_t>* ends : {&made.from, &made.to}) {
      ends->resize(static_cast<size_t>(head.links));
      take(ends->data(), ends->size() * sizeof(int32_t));
    }
    made.weights = Tensor::empty({head.links, head.heads}, DType::f64);
    take(made.weights.bytes_data(), static_cast<size_t>(made.weights.bytes()));
    parts[{head.sample, head.layer}][head.first_head] = std::move(made);
  }
}

// Heads beside each other.
WeighedLinks joined(const std::map<int64_t, WeighedLinks>& parts) {
  WeighedLinks made = parts.begin()->second;
  int64_t heads = 0;
  for (const auto& [first, part] : parts) heads += part.weights.dim(1);
  const int64_t links = made.weights.dim(0);
  made.weights = Tensor::empty({links, heads}, DType::f64);
  for (const auto& [first, part] : parts)
    for (int64_t e = 0; e < links; ++e)
      std::copy_n(part.weights.data<double>() + e * part.weights.dim(1), part.weights.dim(1),
                  made.weights.data<double>() + e * heads + first);
  return made;
}

// Those into `node`.
WeighedLinks links_into(const WeighedLinks& all, int64_t node) {
  WeighedLinks made{.layer = all.layer};
  const int64_t heads = all.weights.dim(1);
  std::vector<double> weights;
  for (size_t e = 0; e < all.to.size(); ++e) {
    if (all.to[e] != node) continue;
    made.from.push_back(all.from[e]);
    made.to.push_back(all.to[e]);
    const double* const from = all.weights.data<double>() + static_cast<int64_t>(e) * heads;
    weights.insert(weights.end(), from, from + heads);
  }
  made.weights = Tensor::from(weights, {std::ssize(made.to), heads});
  return made;
}

data::GraphSamples chosen(const data::GraphSamples& all, const GraphsToWeigh& wanted) {
  std::vector<data::GraphUnit> units;
  for (const data::GraphUnit& unit : all.units())
    if (std::ssize(units) < wanted.count && (wanted.graph < 0 || unit.record == wanted.graph))
      units.push_back(unit);
  require(!units.empty(),
          "attend.graph={}, but that is none of the {} graphs that are meant; give another, or "
          "another graph.part",
          wanted.graph, all.units().size());
  return {all.blend(), std::move(units), all.form(), all.sampling()};
}

// Without layers.
WeighedGraph graph_of(const data::GraphSamples& samples, const data::GraphUnit& unit,
                      int64_t node) {
  const data::GraphRecords& store = samples.blend().parts[static_cast<size_t>(unit.part)];
  WeighedGraph made;
  made.name = fmt::format("{}, graph {}", store.records().name(), unit.record);
  require(node < store.nodes(unit.record), "attend.node={}, but {} has {} nodes, from 0 on", node,
          made.name, store.nodes(unit.record));
  const data::GraphLinks links = store.links(unit.record);
  for (int64_t to = 0; to + 1 < std::ssize(links.starts); ++to)
    for (int64_t e = links.starts[static_cast<size_t>(to)];
         e < links.starts[static_cast<size_t>(to) + 1]; ++e)
      made.links.emplace_back(links.columns[static_cast<size_t>(e)], to);
  return made;
}

}  // namespace

std::vector<WeighedGraph> weighed_graphs(TrainedGraphModel& model,
                                         const data::GraphSamples& samples,
                                         const GraphsToWeigh& wanted) {
  const data::GraphSamples few = chosen(samples, wanted);
  std::vector<WeighedGraph> made;
  for (const data::GraphUnit& unit : few.units()) made.push_back(graph_of(few, unit, wanted.node));
  LinkRecorder recorder;
  model.watch(few, recorder);
  LinkParts parts;
  for (const std::string& bytes : model.gathered(recorder.bytes())) unpack_links(bytes, parts);
  for (const auto& [place, heads] : parts) {
    WeighedLinks all = joined(heads);
    made[static_cast<size_t>(place.first)].layers.push_back(
        wanted.node < 0 ? std::move(all) : links_into(all, wanted.node));
  }
  return made;
}

namespace {

// Of one layer and head: over nodes of several links.
struct Sharpness {
  int64_t nodes = 0;
  double largest = 0, equal = 0, entropy = 0;

  // Of shares of their sum, which is not 1 where weights are GCN's.
  void add(std::span<const double> weights) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    ++nodes;
    equal += 1.0 / static_cast<double>(weights.size());
    largest += *std::ranges::max_element(weights) / sum;
    for (const double weight : weights)
      if (weight > 0) entropy -= weight / sum * std::log(weight / sum);
  }
};

// Calls use(head, weights) for each node of several links.
template <class Use>
void each_node(const WeighedLinks& layer, const Use& use) {
  const int64_t links = std::ssize(layer.to), heads = layer.weights.dim(1);
  std::vector<double> mine;
  for (int64_t first = 0, last = 0; first < links; first = last) {
    while (last < links &&
           layer.to[static_cast<size_t>(last)] == layer.to[static_cast<size_t>(first)])
      ++last;
    for (int64_t head = 0; head < heads && last - first > 1; ++head) {
      mine.clear();
      for (int64_t e = first; e < last; ++e)
        mine.push_back(layer.weights.data<double>()[e * heads + head]);
      use(head, mine);
    }
  }
}

}  // namespace

std::vector<std::string> weight_lines(const std::vector<WeighedGraph>& graphs) {
  std::map<std::pair<int, int64_t>, Sharpness> found;
  for (const WeighedGraph& graph : graphs)
    for (const WeighedLinks& layer : graph.layers)
      each_node(layer, [&](int64_t head, std::span<const double> weights) {
        found[{layer.layer, head}].add(weights);
      });
  std::vector<std::string> made;
  for (const auto& [place, sum] : found) {
    const auto nodes = static_cast<double>(sum.nodes);
    made.push_back(fmt::format(
        "layer {}, head {}: over {} nodes with several links the largest weight is {:.3f} in the "
        "mean, where equal ones were {:.3f}; entropy {:.2f} nats",
        place.first, place.second, sum.nodes, sum.largest / nodes, sum.equal / nodes,
        sum.entropy / nodes));
  }
  return made;
}

std::string weights_jsonl(const std::vector<WeighedGraph>& graphs) {
  std::string made;
  for (const WeighedGraph& graph : graphs)
    for (const WeighedLinks& layer : graph.layers)
      for (int64_t head = 0; head < layer.weights.dim(1); ++head)
        for (int64_t e = 0; e < layer.weights.dim(0); ++e) {
          const double weight = layer.weights.data<double>()[e * layer.weights.dim(1) + head];
          made += nlohmann::ordered_json{{"graph", graph.name},
                                         {"layer", layer.layer},
                                         {"head", head},
                                         {"from", layer.from[static_cast<size_t>(e)]},
                                         {"to", layer.to[static_cast<size_t>(e)]},
                                         {"weight", std::round(weight * 1e6) / 1e6}}
                      .dump() +
                  "\n";
        }
  return made;
}

std::string weights_svg(const WeighedGraph& graph, const WeighedLinks& layer) {
  std::map<int64_t, int64_t> places;  // of nodes in the picture
  for (const auto& ends : {layer.from, layer.to})
    for (const int32_t node : ends) places[node] = 0;
  if (std::ssize(places) > kMostDrawn) return {};
  formats::GraphPicture picture;
  picture.title = fmt::format("{}, layer {}", graph.name, layer.layer);
  for (auto& [node, place] : places) {
    place = std::ssize(picture.nodes);
    picture.nodes.push_back(node < 0 ? "virtual" : fmt::format("{}", node));
  }
  for (const auto& [from, to] : graph.links)
    if (places.contains(from) && places.contains(to))
      picture.near.emplace_back(places.at(from), places.at(to));
  for (int64_t head = 0; head < layer.weights.dim(1); ++head) {
    formats::GraphPanel panel{.title = fmt::format("head {}", head), .links = {}};
    for (size_t e = 0; e < layer.to.size(); ++e)
      panel.links.push_back(
          {places.at(layer.from[e]), places.at(layer.to[e]),
           layer.weights.data<double>()[static_cast<int64_t>(e) * layer.weights.dim(1) + head]});
    picture.panels.push_back(std::move(panel));
  }
  return graph_svg(picture);
}

std::vector<std::string> write_weights(const std::string& option, const std::string& folder,
                                       const std::vector<WeighedGraph>& graphs) {
  ResultFolder made(option, folder);
  made.write("attention.jsonl", weights_jsonl(graphs));
  for (size_t i = 0; i < graphs.size(); ++i)
    for (const WeighedLinks& layer : graphs[i].layers) {
      const std::string svg = weights_svg(graphs[i], layer);
      if (!svg.empty()) made.write(fmt::format("graph-{}-layer-{}.svg", i + 1, layer.layer), svg);
    }
  return made.files();
}

}  // namespace skein::train
