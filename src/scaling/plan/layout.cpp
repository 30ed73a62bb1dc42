#include <cmath>
#include <limits>

#include "skein/parallel/rank_memory.h"
#include "skein/train/optim/optimizer.h"

#include "search.h"

namespace skein::scaling::plan {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024, kUsable = 0.9;
constexpr int64_t kMostMicroTokens = 8192;

double number(int64_t value) { return value; }

DType precision_of(const Machine& machine) {
  return machine.device == DeviceKind::cuda ? DType::bf16 : DType::f32;
}

// The first and the last stage hold a table more than the others.
double parameters_of_rank(const ModelConfig& model, const ModelCounts& counts,
                          const ParallelConfig& p) {
  const double tables =
      p.pipeline > 1 ? std::max(counts.embedding, counts.head) : counts.all - counts.blocks;
  const double blocks =
      counts.blocks / number(model.n_layers) * std::ceil(number(model.n_layers) / p.pipeline);
  return (blocks + tables) / p.tensor;
}

// parameters, blocks: of the fullest rank.
RankMemory memory_of(const Layout& layout, double parameters, const ModelConfig& model,
                     int64_t micro_batches, const Parameters& blocks) {
  MemoryShape shape{.parameters = parameters, .dtype = blocks.dtype(), .parallel = layout.parallel};
  shape.optimizer_bytes = train::make_optimizer({})->bytes_per_parameter(shape.dtype);
  shape.micro_batch = layout.micro_batch;
  shape.micro_batches = micro_batches;
  shape.tokens = model.context;
  const bool on_host = layout.parallel.device == DeviceKind::cuda;
  shape.snapshot = on_host ? Snapshot::on_host : Snapshot::waited_for;
  shape.head = {model.vocab_size / layout.parallel.tensor, model.d_model};
  if (model.tie_embeddings && layout.parallel.pipeline == 1)
    shape.reused = number(model.vocab_size * model.d_model / layout.parallel.tensor);
  return estimated_memory(shape, blocks);
}

double lost_time(const Layout& layout, int64_t micro_batches) {
  const ParallelConfig& p = layout.parallel;
  const double again = p.recompute == Recompute::none ? 1 : 4.0 / 3;
  const double split = 1 + 0.05 * std::log2(p.tensor),
               bubble = 1 + number(p.pipeline - 1) / number(micro_batches);
  return again * split * bubble;
}

struct MeshSizes {
  int tensor, pipeline, data;
};

struct Search {
  const ModelConfig& model;
  const Machine& machine;
  int64_t sequences;  // that the batch rule asks for
  double room;        // bytes of a device; infinite: unknown
  ModelCounts counts = counts_of(model);
  Layout best{};
  double best_cost = std::numeric_limits<double>::infinity();

  // Of devices at rest, and of a batch so large that it is another one.
  double wasted(const Layout& layout) const {
    const double over = number(layout.global_batch) / number(sequences);
    const double rest = number(machine.count) / number(layout.devices());
    return rest * (over > kOtherBatch ? over : 1);
  }

  // What does not fit is worse than what does, and by how much counts.
  double cost_of(const Layout& layout, int64_t micro_batches) const {
    const double lost = wasted(layout) * lost_time(layout, micro_batches) -
                        1e-6 * std::log2(number(layout.micro_batch));
    return layout.fits ? lost : 1e6 + layout.bytes() / kGiB;
  }

  void try_one(Layout layout, const Parameters& blocks) {
    const int64_t unit = layout.parallel.data * layout.micro_batch;
    const int64_t micro_batches = std::max<int64_t>(1, (sequences + unit / 2) / unit);
    layout.global_batch = unit * micro_batches;
    const double parameters = parameters_of_rank(model, counts, layout.parallel);
    layout.memory = memory_of(layout, parameters, model, micro_batches, blocks);
    layout.fits = layout.bytes() <= room;
    const double cost = cost_of(layout, micro_batches);
    if (cost < best_cost) best = layout, best_cost = cost;
  }

  void try_mesh(const MeshSizes& mesh) {
    const auto& [tensor, pipeline, data] = mesh;
    Layout layout;
    ParallelConfig& p = layout.parallel;
    p.device = machine.device;
    p.tensor = tensor;
    p.pipeline = pipeline;
    p.data = data;
    p.sequence = tensor > 1 && model.context % tensor == 0;
    p.zero = data > 1;
    p.reduction_groups = data;
    const int64_t most = std::max<int64_t>(
        1, std::min(kMostMicroTokens / model.context, std::max<int64_t>(1, sequences / data)));
    Parameters blocks(precision_of(machine), 0, tensor);
    describe_fullest_rank(model, p, blocks);
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
      for (layout.micro_batch = 1; layout.micro_batch <= most; layout.micro_batch *= 2) {
        p.recompute = recompute;
        try_one(layout, blocks);
      }
  }
};

bool divides(const ModelConfig& model, int64_t tensor) {
  return model.n_heads % tensor == 0 && model.kv_heads() % tensor == 0 &&
         model.hidden() % tensor == 0;
}

// As many data-parallel ranks as there are devices for; what is left over is at rest.
std::vector<MeshSizes> meshes_of(const ModelConfig& model, const Machine& machine) {
  std::vector<MeshSizes> all;
  for (int64_t tensor = 1; tensor <= std::min(machine.per_host, machine.count); tensor *= 2) {
    if (!divides(model, tensor)) continue;
    const int64_t rest = machine.count / tensor;
    for (int64_t pipeline = 1; pipeline <= std::min(rest, model.n_layers); ++pipeline)
      all.push_back({narrow<int>(tensor), narrow<int>(pipeline), narrow<int>(rest / pipeline)});
  }
  return all;
}

}  // namespace

const char* name_of(Recompute recompute) {
  if (recompute == Recompute::none) return "none";
  return recompute == Recompute::selective ? "selective" : "full";
}

Layout lay_out(const ModelConfig& model, const Machine& machine, double batch_tokens) {
  const double room = machine.memory > 0 ? kUsable * machine.memory * kGiB
                                         : std::numeric_limits<double>::infinity();
  Search search{model, machine,
                std::max<int64_t>(1, std::llround(batch_tokens / number(model.context))), room};
  for (const MeshSizes& mesh : meshes_of(model, machine)) search.try_mesh(mesh);
  return search.best;
}

}  // namespace skein::scaling::plan
