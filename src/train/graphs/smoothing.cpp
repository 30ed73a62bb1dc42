#include "skein/train/graphs/smoothing.h"

#include <cmath>

#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/nn/attention_watcher.h"

namespace skein::train {
namespace {

// Of one graph behind one layer: sums of cosines, and how many they are.
struct Cosines {
  double linked = 0, links = 0, any = 0, pairs = 0;
};
constexpr int64_t kNumbers = sizeof(Cosines) / sizeof(double);

// The vectors of a graph's nodes with length 1, or zeros.
std::vector<double> directions(const float* from, int64_t nodes, int64_t width) {
  std::vector<double> made(from, from + nodes * width);
  for (int64_t node = 0; node < nodes; ++node) {
    double* const row = made.data() + node * width;
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) squares += row[i] * row[i];
    for (int64_t i = 0; i < width && squares > 0; ++i) row[i] /= std::sqrt(squares);
  }
  return made;
}

void add_linked(Cosines& to, const std::vector<double>& rows, int64_t width, const int32_t* links,
                int64_t count) {
  for (int64_t e = 0; e < count; ++e) {
    const int64_t node = links[2 * e], other = links[2 * e + 1];
    if (node < 0 || node == other) continue;
    for (int64_t i = 0; i < width; ++i)
      to.linked += rows[node * width + i] * rows[other * width + i];
    ++to.links;
  }
}

// The cosines of all ordered pairs are the square of the sum of all vectors, less those of nodes
// with themselves.
void add_any(Cosines& to, const std::vector<double>& rows, int64_t nodes, int64_t width) {
  if (nodes < 2) return;
  for (int64_t i = 0; i < width; ++i) {
    double sum = 0;
    for (int64_t node = 0; node < nodes; ++node) {
      sum += rows[node * width + i];
      to.any -= rows[node * width + i] * rows[node * width + i];
    }
    to.any += sum * sum;
  }
  to.pairs += static_cast<double>(nodes) * static_cast<double>(nodes - 1);
}

// Of each half block the next one of the same block comes after it: the last counts.
class AlikenessWatcher : public AttentionWatcher {
 public:
  explicit AlikenessWatcher(const Tensor& all) : all_(all) {}
  void see(const SeenAttention& /*seen*/) override {}
  void see(const SeenLinks& /*seen*/) override {}
  void see(const SeenStates& seen) override {
    const Tensor states = seen.states.to(Device{}).to(DType::f32),
                 ids = seen.batch.sample_ids.to(Device{});
    const int64_t length = states.dim(1), width = states.dim(2),
                  ahead = length - seen.batch.length();  // a virtual node
    for (int64_t sample = 0; sample < states.dim(0); ++sample) {
      const int64_t nodes = seen.batch.lengths.data<int32_t>()[sample];
      const std::vector<double> rows =
          directions(states.data<float>() + (sample * length + ahead) * width, nodes, width);
      Cosines found;
      const Tensor& links = seen.batch.links;
      add_linked(found, rows, width, links.data<int32_t>() + sample * links.dim(1) * 2,
                 links.dim(1));
      add_any(found, rows, nodes, width);
      reinterpret_cast<Cosines*>(
          all_.data<double>())[ids.data<int64_t>()[sample] * all_.dim(1) + seen.block + 1] = found;
    }
  }

 private:
  const Tensor& all_;  // [samples,layers + 1,numbers] f64
};

}  // namespace

std::vector<LayerAlikeness> alikeness(TrainedGraphModel& model, const data::GraphSamples& samples) {
  const int64_t count = samples.samples_per_epoch(), layers = model.layers() + 1;
  const Tensor all = Tensor::zeros({count, layers, kNumbers}, DType::f64);
  AlikenessWatcher watcher(all);
  model.watch(samples, watcher);
  model.share(all);
  const auto* const found = reinterpret_cast<const Cosines*>(all.data<double>());
  std::vector<LayerAlikeness> made;
  for (int64_t layer = 0; layer < layers; ++layer) {
    Cosines sum;
    for (int64_t sample = 0; sample < count; ++sample) {
      const Cosines& one = found[sample * layers + layer];
      sum.linked += one.linked;
      sum.links += one.links;
      sum.any += one.any;
      sum.pairs += one.pairs;
    }
    made.push_back({static_cast<int>(layer), sum.linked / std::max(1.0, sum.links),
                    sum.any / std::max(1.0, sum.pairs)});
  }
  return made;
}

std::string alikeness_table(const std::vector<LayerAlikeness>& layers) {
  std::string text = "layer  cosine of linked nodes  of any two";
  for (const LayerAlikeness& one : layers)
    text += fmt::format("\n{:5}  {:22.4f}  {:10.4f}", one.layer, shown_number(one.linked),
                        shown_number(one.any));
  return text;
}

NamedValues evaluate_smoothing(const std::vector<std::string>& stores,
                               const GraphPartConfig& config, const TrainedModel& source,
                               const ParallelConfig& parallel, int64_t batch, Group& world) {
  TrainedGraphModel model(source, parallel, DType::f32, batch, world);
  const std::vector<LayerAlikeness> layers = alikeness(model, model.samples(stores, config.choice));
  log::info("how alike nodes are:\n{}", alikeness_table(layers));
  NamedValues made;
  for (const LayerAlikeness& one : layers) {
    made.emplace_back(fmt::format("linked_cosine_{}", one.layer), one.linked);
    made.emplace_back(fmt::format("any_cosine_{}", one.layer), one.any);
  }
  return made;
}

}  // namespace skein::train
