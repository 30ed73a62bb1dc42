#include "skein/parallel/layout.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/kernels/units.h"
#include "skein/tensor/cuda.h"

namespace skein {

void bind(Options& options, ParallelConfig& p) {
  options.add_choice("parallel.device", p.device,
                     {{"cpu", DeviceKind::cpu}, {"cuda", DeviceKind::cuda}},
                     "what computes; --device for short");
  options.add("parallel.pipeline", p.pipeline, "pipeline stages", "ranks");
  options.add("parallel.tensor", p.tensor, "tensor-parallel shards", "ranks");
  options.add("parallel.data", p.data, "data-parallel replicas; 0 takes the ranks that are left",
              "ranks");
  options.add("parallel.chunks", p.chunks, "model pieces a pipeline rank (interleaved schedule)");
  options.add("parallel.sequence", p.sequence,
              "divide activations over positions between tensor-parallel ranks");
  options.add("parallel.zero", p.zero,
              "divide the optimizer's state over data-parallel ranks (ZeRO-1)");
  options.add_choice("parallel.schedule", p.schedule,
                     {{"gpipe", ScheduleKind::gpipe},
                      {"1f1b", ScheduleKind::one_f_one_b},
                      {"interleaved", ScheduleKind::interleaved}},
                     "pipeline schedule");
  options.add_choice(
      "parallel.recompute", p.recompute,
      {{"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}},
      "what backward computes again");
  options.add(
      "parallel.cuda_graph", p.cuda_graph,
      "on a GPU record a micro-batch's forward and backward once and queue them as one graph");
  options.add(
      "parallel.reduction_groups", p.reduction_groups,
      "groups of the canonical gradient sum, a multiple of the data-parallel ranks; results "
      "depend on it, not on the layout; 0 chooses");
  options.add_choice(
      "parallel.group_order", p.group_order,
      {{"auto", GroupOrder::automatic},
       {"contiguous", GroupOrder::contiguous},
       {"strided", GroupOrder::strided}},
      "groups of a data-parallel rank: contiguous, for one exchange a step; strided, "
      "for one a turn of all ranks and less memory; auto: contiguous, but strided "
      "where only that gives the bits of one rank");
  options.add("parallel.equal_bits", p.equal_bits,
              "GPUs add gradients over data-parallel ranks in the order that CPUs keep; false: in "
              "one that NCCL chooses by topology and size");
  options.add("parallel.equal_micro_batches", p.equal_micro_batches,
              "GPUs add gradients sample by sample and keep to one algorithm a product, so that "
              "train.micro_batch does not matter either where rows have one length; slower");
  options.add("parallel.layers", p.layers,
              "blocks of each pipeline piece; empty: pieces of equal work");
  options.add(
      "parallel.timeout", p.timeout,
      "an exchange between ranks that takes longer ends the job with code 75; 0: never; -1: "
      "three times the slowest of its kind (a step, a validation, a save) so far, 60 at "
      "least, and 600 before there was one",
      "seconds");
}

void require_kernels(DeviceKind kind) {
  require(kind == DeviceKind::cpu || cuda::built_in(),
          "parallel.device=cuda, but this build has no GPU kernels; build them with `launch/build "
          "cuda` (docs/gpu.md) and start build/cuda/bin/skein, or use parallel.device=cpu");
}

Device device_of(DeviceKind kind) {
  require_kernels(kind);
  if (kind == DeviceKind::cpu) return {};
  const int count = cuda::device_count();
  require(count > 0,
          "parallel.device=cuda, but there is no GPU that CUDA can use here (see nvidia-smi); use "
          "parallel.device=cpu");
  int rank = log::rank();
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PMI_LOCAL_RANK",
                               "LOCAL_RANK", "SKEIN_RANK", "RANK"})
    if (const char* text = std::getenv(variable)) {
      rank = std::atoi(text);
      break;
    }
  return {kind, rank % count};
}

int64_t row_multiple(bool sequence, int tensor) {
  constexpr int64_t kWhole = 8;
  return sequence ? std::lcm(kWhole, static_cast<int64_t>(tensor)) : kWhole;
}

MeshShape mesh_shape(const ParallelConfig& p, int ranks) {
  require(
      p.pipeline > 0 && p.tensor > 0 && p.data >= 0,
      "parallel.pipeline={} and parallel.tensor={} must be at least 1, parallel.data={} at least 0",
      p.pipeline, p.tensor, p.data);
  require(
      p.timeout >= 0 || p.timeout == -1,
      "parallel.timeout={} must be at least 0 seconds, where 0 waits for ever, or -1 for limits "
      "that follow from how long steps take",
      p.timeout);
  const int64_t replica = int64_t{p.pipeline} * p.tensor;
  return {p.pipeline, p.data ? p.data : static_cast<int>(std::max<int64_t>(1, ranks / replica)),
          p.tensor};
}

namespace {

bool power_of_two(int64_t count) { return std::has_single_bit(static_cast<uint64_t>(count)); }

bool neighbours_add_as_one(int64_t groups, int dp) {
  return dp == 1 || (groups % dp == 0 && power_of_two(groups / dp));
}

bool takes_turns(GroupOrder order, int64_t groups, int dp) {
  if (order != GroupOrder::automatic) return order == GroupOrder::strided && dp > 1;
  return !neighbours_add_as_one(groups, dp) && power_of_two(dp);
}

int64_t choose_groups(int64_t batch, int dp) {
  int64_t groups = dp;
  while (2 * groups <= 4 && batch % (2 * groups) == 0) groups *= 2;
  return groups;
}

}  // namespace

bool adds_as_one_rank(GroupOrder order, int64_t groups, int dp) {
  return takes_turns(order, groups, dp) || neighbours_add_as_one(groups, dp);
}

data::SampleRange BatchPlan::own_samples(const Mesh& mesh) const {
  const int64_t run = samples_per_run();
  return {mesh.dp().rank() * run, samples_per_rank, run, mesh.dp().size() * run};
}

std::vector<double> BatchPlan::in_sample_order(std::span<const double> gathered) const {
  const int64_t run = samples_per_run(), ranks = global_batch / samples_per_rank;
  std::vector<double> made;
  for (int64_t sample = 0; sample < global_batch; ++sample) {
    const int64_t turn = sample / run, rank = turn % ranks, turns_before = turn / ranks;
    made.push_back(gathered[rank * samples_per_rank + turns_before * run + sample % run]);
  }
  return made;
}

BatchStride batch_stride(const Mesh& mesh, int64_t batch) {
  return {mesh.dp().rank() * batch, mesh.dp().size() * batch};
}

int64_t largest_divisor(int64_t count, int64_t most) {
  int64_t found = std::min(count, most);
  while (found > 1 && count % found != 0) --found;
  return std::max<int64_t>(1, found);
}

namespace {

// The most groups, up to `most`, that a micro-batch may hold of the `own` of a rank. whole: also
// all of them where they are no power of two.
int64_t groups_together(int64_t own, int64_t most, bool whole) {
  if (own <= most && whole) return own;
  int64_t found = 1;
  while (2 * found <= most && own % (2 * found) == 0) found *= 2;
  return found;
}

}  // namespace

int64_t fitting_micro_batch(const ParallelConfig& p, const MeshShape& mesh, int64_t batch,
                            int64_t most) {
  if (batch <= 0 || most <= 0 || p.reduction_groups < 0) return most;
  const int64_t groups = p.reduction_groups ? p.reduction_groups : choose_groups(batch, mesh.dp);
  if (batch % groups != 0 || groups % mesh.dp != 0) return most;
  const int64_t group = batch / groups;
  if (most <= group) return largest_divisor(group, most);
  return group * groups_together(groups / mesh.dp, most / group,
                                 !takes_turns(p.group_order, groups, mesh.dp));
}

BatchPlan plan_batch(const ParallelConfig& p, const MeshShape& mesh, int64_t batch, int64_t micro) {
  constexpr int64_t kMostSamples = std::numeric_limits<int>::max();
  require(batch > 0 && batch <= kMostSamples && micro > 0,
          "train.global_batch={} must be 1 to {}, train.micro_batch={} at least 1", batch,
          kMostSamples, micro);
  require(batch % mesh.dp == 0,
          "train.global_batch={} does not divide by the {} data-parallel ranks; the nearest that "
          "does is {}",
          batch, mesh.dp, std::max<int64_t>(1, (batch + mesh.dp / 2) / mesh.dp) * mesh.dp);
  const int64_t groups = p.reduction_groups ? p.reduction_groups : choose_groups(batch, mesh.dp);
  require(groups > 0 && groups % mesh.dp == 0 && batch % groups == 0,
          "parallel.reduction_groups={} must be a multiple of the {} data-parallel ranks and a "
          "divisor of train.global_batch={}",
          groups, mesh.dp, batch);
  const bool strided = takes_turns(p.group_order, groups, mesh.dp);
  require(
      !strided || power_of_two(mesh.dp),
      "parallel.group_order=strided adds as one rank at 1, 2, 4, 8, ... data-parallel ranks, but "
      "there are {}; use parallel.group_order=contiguous",
      mesh.dp);
  const int64_t group = batch / groups, own = groups / mesh.dp,
                together = std::max<int64_t>(1, micro / group);
  require(group % micro == 0 || (micro % group == 0 && together <= own &&
                                 groups_together(own, together, !strided) == together),
          "train.micro_batch={} must divide the {} sequences of a reduction group "
          "(train.global_batch={} / parallel.reduction_groups={}) or hold a power of two of the {} "
          "groups of a rank{}; the nearest below that does is {}",
          micro, group, batch, groups, own, strided ? "" : ", or all of them",
          fitting_micro_batch(p, mesh, batch, micro));
  const BatchPlan plan{.global_batch = batch,
                       .micro_batch = micro,
                       .groups = groups,
                       .samples_per_rank = batch / mesh.dp,
                       .groups_per_rank = static_cast<int>(own),
                       .groups_per_micro_batch = static_cast<int>(together),
                       .strided = strided};
  check_schedule_fits(p.schedule, mesh.pp, static_cast<int>(plan.micro_batches()), p.chunks);
  return plan;
}

std::string unit_of(Device device, DType dtype) {
  return device.kind == DeviceKind::cuda ? cuda::name(device.index)
                                         : kernels::product_unit(Cpu{}, dtype);
}

}  // namespace skein
