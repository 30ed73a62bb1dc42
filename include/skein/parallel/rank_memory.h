// What a rank of a training run needs, by formula: for layouts that nobody has tried, and for
// advice where memory is short.
#pragma once

#include <cstdint>
#include <string>

#include "skein/comm/group.h"
#include "skein/models/config.h"
#include "skein/parallel/layout.h"
#include "skein/parallel/local_model.h"

namespace skein {

// The largest product of a rank: the one that makes logits of a vocabulary.
struct HeadShape {
  int64_t ids = 0;  // of the rank; 0: there is none
  int64_t width = 0;
  double places = 1;  // rows for each token
};

// Where the rank's file of a checkpoint stands until it is written: nowhere (nothing is saved), in
// the place of activations and work space while training waits, beside these, or on the host of a
// GPU.
enum class Snapshot { none, waited_for, beside, on_host };

struct MemoryShape {
  double parameters = 0;  // of the rank that learn, padding left out
  double reused = 0;      // those of them that have gradients a second time, for another use
  double frozen = 0;      // of the rank that do not learn
  int frozen_blocks = 0;  // that keep nothing for backward
  DType dtype = DType::f32;
  int64_t optimizer_bytes = 8;   // a parameter: moments, and masters where they stand apart
  int64_t frozen_bytes = 0;      // a frozen one: such a master
  ParallelConfig parallel = {};  // with the sizes of the mesh
  int stage = 0;                 // of the rank in the pipeline
  int64_t micro_batch = 1, micro_batches = 1;         // of a step
  int sums_per_rank = 1, groups_per_micro_batch = 1;  // as in BatchPlan
  bool strided = false;                               // as there
  int64_t tokens = 0;                                 // of a row
  double source_tokens = 1;                           // for each, where the model reads a source
  HeadShape head = {};
  double others = 0;  // bytes that other models keep on the rank
  Snapshot snapshot = Snapshot::none;
};
// Of the rank that holds `model`; the parameters' own numbers and the head's are filled in.
MemoryShape memory_shape(const ModelConfig& config, const ParallelConfig& parallel,
                         const BatchPlan& plan, const Mesh& mesh, const LocalModel& model);

// Bytes. What exchanges need is not counted.
struct RankMemory {
  double values = 0, gradients = 0;
  double waiting = 0;      // sums of groups (buckets.h)
  double optimizer = 0;    // divided by data-parallel ranks with parallel.zero
  double others = 0;       // as MemoryShape has them
  double packed = 0;       // copies of weights for products of few rows (kernels/memory_rules.h)
  double activations = 0;  // kept for backward
  double work = 0;      // beside those at the worst moment: logits, what a product makes and adds
  double snapshot = 0;  // of a checkpoint on its way
  Snapshot place = Snapshot::none;
  // From step to step.
  double kept() const { return values + gradients + waiting + optimizer + others; }
  double total() const;
};

// blocks: those of the rank that has most, of shards as shape.parallel says.
RankMemory estimated_memory(const MemoryShape& shape, const Parameters& blocks);
// Describes those.
void describe_fullest_rank(const ModelConfig& model, const ParallelConfig& parallel,
                           Parameters& blocks);

// What the rank needs and of what it is made, then each option that would make it less, alone, with
// what it would be.
std::string memory_advice(const ModelConfig& model, const MemoryShape& shape);

// Collective over world, before anything is allocated. A usage error, with that advice, where what
// the ranks of a host, or of a GPU, keep from step to step is more than can be taken there: no run
// that would work is refused.
void require_memory(Group& world, Device device, const ModelConfig& model,
                    const MemoryShape& shape);

}  // namespace skein
