// How a run is laid out over ranks, and how its batch is cut.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/comm/mesh.h"
#include "skein/core/options/options.h"
#include "skein/data/samples/source.h"
#include "skein/nn/pass.h"
#include "skein/parallel/schedule.h"

namespace skein {

// Which groups of a step a data-parallel rank takes: neighbours, which it adds before ranks
// exchange once; or with the others the next ones in turn, and an exchange after each turn. Then
// only its own slices wait for each other. automatic: contiguous, but strided where only that adds
// as one rank.
enum class GroupOrder { automatic, contiguous, strided };

struct ParallelConfig {
  DeviceKind device = DeviceKind::cpu;
  int pipeline = 1;
  int tensor = 1;
  int data = 0;    // 0: the ranks that are left
  int chunks = 1;  // model pieces a pipeline rank
  bool sequence = false;
  bool zero = true;  // ZeRO-1; one data-parallel rank has nothing to divide
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  Recompute recompute = Recompute::none;
  bool cuda_graph = false;  // record a micro-batch's forward and backward once
  // 0: the largest of `data` times a power of two up to 4 that divides the global batch, or `data`
  int64_t reduction_groups = 0;
  GroupOrder group_order = GroupOrder::automatic;
  bool equal_bits = true;  // GPUs add each other's gradients in that tree, too
  // GPUs add gradients sample by sample, so that micro-batches of rows of one length do not matter
  bool equal_micro_batches = false;
  std::vector<int64_t> layers;  // blocks of each piece; empty: of equal work, the head included
  // seconds an exchange between ranks may take; 0: for ever; below 0: as its phase has it
  double timeout = -1;
};

// Binds every field under section "parallel".
void bind(Options& options, ParallelConfig& config);

// Throws a usage error where GPUs are asked for and the build has no kernels for them.
void require_kernels(DeviceKind kind);
// The device of that kind for this process: with several GPUs, the one with the number of its rank
// on the host. A usage error where there is none.
Device device_of(DeviceKind kind);
// What multiplies matrices of dtype there: "AMX", "AVX2 through f32", "NVIDIA H200, 139.8 GiB".
std::string unit_of(Device device, DType dtype);

// Rows with padding are as long as a multiple of this, so that vectors stay whole and sequence
// parallelism can divide them.
int64_t row_multiple(bool sequence, int tensor);
inline int64_t row_multiple(const ParallelConfig& config) {
  return row_multiple(config.sequence, config.tensor);
}

// The mesh for a world of `ranks`.
MeshShape mesh_shape(const ParallelConfig& config, int ranks);

// The samples of one step: a rank takes whole reduction groups of them.
struct BatchPlan {
  int64_t global_batch = 0, micro_batch = 0;
  int64_t groups = 0;  // of the whole batch; the sum over them is one binary tree (buckets.h)
  int64_t samples_per_rank = 0;
  int groups_per_rank = 1;
  int groups_per_micro_batch = 1;  // whole ones; 1 also where it is a part of one
  // Ranks take turns, a sum (below) at a time; else a rank's samples are neighbours.
  bool strided = false;

  // Numbers of this rank's samples in a step.
  data::SampleRange own_samples(const Mesh& mesh) const;
  // Of numbers [batch] that ranks gave in their own order, one rank after the other: those of the
  // samples in theirs.
  std::vector<double> in_sample_order(std::span<const double> gathered) const;
  int64_t samples_per_run() const {
    return strided ? samples_per_rank / sums_per_rank() : samples_per_rank;
  }
  int64_t micro_batches() const { return samples_per_rank / micro_batch; }
  // What buckets add: groups, or what micro-batches of several have made of theirs.
  int sums_per_rank() const { return groups_per_rank / groups_per_micro_batch; }
  int64_t micro_batches_per_sum() const { return micro_batches() / sums_per_rank(); }
};

// Whether the gradients of so many groups are added by dp data-parallel ranks as one rank adds
// them, so that they have the same bits (buckets.h): a power of two of groups is a subtree, be it
// of those of a rank or of those of one turn.
bool adds_as_one_rank(GroupOrder order, int64_t groups, int dp);

// Samples that data-parallel ranks take in turn, `batch` at a time: this rank's first one, and how
// far those are apart at which it begins.
struct BatchStride {
  int64_t first = 0, apart = 1;
};
BatchStride batch_stride(const Mesh& mesh, int64_t batch);

// The largest number up to `most` that divides count; 1 at least. count and most are at least 1.
int64_t largest_divisor(int64_t count, int64_t most);
// The largest micro-batch up to `most` that plan_batch takes for that batch; `most` itself where it
// takes none.
int64_t fitting_micro_batch(const ParallelConfig& config, const MeshShape& mesh,
                            int64_t global_batch, int64_t most);

// Usage errors with both numbers for what does not divide. A micro-batch is a part of a reduction
// group, or holds a power of two of them, or, where ranks do not take turns, all that the rank has.
BatchPlan plan_batch(const ParallelConfig& config, const MeshShape& mesh, int64_t global_batch,
                     int64_t micro_batch);

}  // namespace skein
