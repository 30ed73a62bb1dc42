#include "skein/parallel/local_model.h"

#include <algorithm>
#include <numeric>

#include "skein/models/architecture.h"
#include "skein/models/description.h"
#include "skein/models/flops.h"

namespace skein {
namespace {

// Whether more than the frozen tensors, and second uses of them, is left.
bool learns_beside(const ModelConfig& config, int64_t layers) {
  Parameters all(DType::f32, 0, 1);
  describe(config, whole_piece(config), all);
  return std::any_of(all.all().begin(), all.all().end(), [&](const Parameter& p) {
    return !p.constant && !is_frozen(p.part, layers, config.n_layers);
  });
}

void check_frozen(const ModelConfig& config, int64_t layers) {
  require(layers >= -1 && layers <= config.n_layers,
          "train.frozen_layers={} must be from -1 (none) to model.n_layers={} (all but the head)",
          layers, config.n_layers);
  require(layers < config.n_layers || learns_beside(config, layers),
          "train.frozen_layers={} leaves nothing that learns, for the head is the frozen "
          "embedding; freeze fewer layers or give model.tie_embeddings=false",
          layers);
}

// Number of the first piece that holds more than frozen blocks. What all blocks share learns with
// the first of them, and is in the first piece even where that has no block.
int first_beyond(const std::vector<int>& split, int64_t frozen_layers) {
  if (frozen_layers == 0) return 0;
  int64_t last = 0;
  for (size_t piece = 0; piece < split.size(); ++piece)
    if ((last += split[piece]) > frozen_layers) return static_cast<int>(piece);
  return static_cast<int>(split.size()) - 1;
}

std::vector<int> split_by_work(const ModelConfig& config, int pieces,
                               const std::vector<int64_t>& given) {
  const auto flops = flops_by_block(config, config.context);
  std::vector<double> work;
  for (int block = 0; block < config.n_layers; ++block) work.push_back(flops.at(block));
  return split_layers(work, pieces, given, flops.at(-1));
}

}  // namespace

LocalModel::LocalModel(const ModelConfig& config, const ParallelConfig& parallel, Mesh& mesh,
                       DType dtype, int64_t frozen_layers)
    : mesh_(mesh),
      parallel_(parallel),
      parameters_(dtype, mesh.tp().rank(), mesh.tp().size(), device_of(parallel.device)) {
  check(config, mesh.tp().size(), parallel.sequence);
  mesh.connect(parameters_.device(), parallel.timeout);
  const int stages = mesh.pp().size(), count = stages * parallel.chunks;
  const auto split = split_by_work(config, count, parallel.layers);
  check_frozen(config, frozen_layers);
  first_learning_ = frozen_layers < 0 ? 0 : first_beyond(split, frozen_layers);
  for (int chunk = 0; chunk < parallel.chunks; ++chunk) {
    const int piece = chunk * stages + mesh.stage();
    const int first = std::accumulate(split.begin(), split.begin() + piece, 0);
    const ModelPiece part{first, first + split[piece], piece == 0, piece == count - 1, chunk};
    for (int block = part.first_block; block < part.last_block; ++block) blocks_.push_back(block);
    pieces_.push_back(config.architecture->piece(config, part, parallel.sequence, parameters_));
    if (part.predicts) last_ = pieces_.back().get();
  }
  if (last_) objective_ = last_->objective();
  if (frozen_layers >= 0)
    parameters_.freeze(
        [&](const Parameter& p) { return is_frozen(p.part, frozen_layers, config.n_layers); });
}

PipelineModel LocalModel::pipeline_model() const {
  PipelineModel model;
  for (const auto& piece : pieces_) model.pieces.push_back(piece.get());
  model.objective = objective_.get();
  model.first_learning = first_learning_;
  model.dtype = parameters_.dtype();
  model.device = parameters_.device();
  return model;
}

Pass LocalModel::pass() const {
  Pass made;
  made.tp = &mesh_.tp();
  made.sequence_parallel = parallel_.sequence;
  made.recompute = parallel_.recompute;
  return made;
}

}  // namespace skein
