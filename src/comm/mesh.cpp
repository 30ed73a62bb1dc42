#include "skein/comm/mesh.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "skein/comm/device_transport.h"
#include "skein/core/host.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/tensor/cuda.h"

namespace skein {
namespace {

std::string data_size_that_fits(int ranks, const MeshShape& shape) {
  const int64_t replica = int64_t{shape.pp} * shape.tp;
  if (ranks % replica == 0)
    return fmt::format("or set the data-parallel size to {}", ranks / replica);
  return fmt::format("no data-parallel size fits {} ranks, which do not divide by pp * tp = {}",
                     ranks, replica);
}

}  // namespace

std::string spread_warning(const std::vector<std::string>& hosts) {
  const std::set<std::string> apart(hosts.begin(), hosts.end());
  if (apart.size() < 2) return "";
  return fmt::format(
      "the {} tensor-parallel ranks of a group are on {} hosts ({}): the activations of every "
      "block are summed through the network, twice forward and twice backward. Start ranks host by "
      "host "
      "(mpirun --map-by slot, srun --distribution=block), or use parallel.tensor={} at most",
      hosts.size(), apart.size(), fmt::join(apart, ", "), hosts.size() / apart.size());
}

std::string taken_warning(int64_t free, int64_t total) {
  if (total - free <= total / 10) return "";
  return fmt::format(
      "{} of {} are already taken by other processes (see nvidia-smi): they slow this one down and "
      "leave it less memory; end them, or keep this GPU out of the job",
      readable_size(total - free), readable_size(total));
}

void check_shape(int ranks, const MeshShape& shape) {
  require(shape.pp >= 1 && shape.dp >= 1 && shape.tp >= 1,
          "the mesh pp {} x dp {} x tp {} has a size below 1; every size must be at least 1",
          shape.pp, shape.dp, shape.tp);
  // In double, where a product of any three sizes cannot overflow.
  const double needed = 1.0 * shape.pp * shape.dp * shape.tp;
  require(needed == ranks,
          "the mesh pp {} x dp {} x tp {} needs {:.0f} ranks, but this job has {}: start it with "
          "mpirun -np {:.0f}; {}",
          shape.pp, shape.dp, shape.tp, needed, ranks, needed, data_size_that_fits(ranks, shape));
}

Mesh::Mesh(Group& world, MeshShape shape) : world_(world), shape_(shape) {
  check_shape(world.size(), shape);
  const int tp_index = world.rank() % shape.tp;
  const int dp_index = world.rank() / shape.tp % shape.dp;
  const int pp_index = world.rank() / shape.tp / shape.dp;
  pp_ = world.split(dp_index * shape.tp + tp_index, pp_index);
  dp_ = world.split(pp_index * shape.tp + tp_index, dp_index);
  tp_ = world.split(pp_index * shape.dp + dp_index, tp_index);
  SKEIN_CHECK_EQ(rank_at(pp_->rank(), dp_->rank(), tp_->rank()), world.rank());
  pp_->set_name("pipeline", dp_index * shape.tp + tp_index);
  dp_->set_name("data", pp_index * shape.tp + tp_index);
  tp_->set_name("tensor", pp_index * shape.dp + dp_index);
  if (shape.tp == 1) return;
  const std::string warning = spread_warning(tp_->all_gather(host_name()));
  for (const std::string& one : world.all_gather(warning)) {
    if (one.empty()) continue;
    log::warn("{}", one);
    break;
  }
}

namespace {

// Of a GPU's free memory, for each rank that has it. A stage's sends wait for their receives on
// streams of their own, and the driver waits for them where memory goes back to it: two stages that
// do so at once would wait for each other.
double part_for_stages(Group& world, Device device) {
  constexpr double kPart = 0.85;
  if (device.kind != DeviceKind::cuda) return 0;
  const std::string own = cuda::identity(device.index);
  const auto all = world.all_gather(own);
  return kPart / static_cast<double>(std::ranges::count(all, own));
}

}  // namespace

void Mesh::watch(Device device, double timeout, const std::string& folder) {
  SKEIN_CHECK(!std::exchange(watched_, true));
  watchdog_ = run_watchdog(world_, device, timeout, folder);
}

void Mesh::connect(Device device, double timeout) {
  if (std::exchange(connected_, true)) return;
  if (!std::exchange(watched_, true)) watchdog_ = job_watchdog(world_, device, timeout);
  if (device.kind == DeviceKind::cuda) {
    const cuda::Memory memory = cuda::memory(device.index);
    if (const std::string warning = taken_warning(memory.free + memory.own, memory.total);
        !warning.empty())
      log::write(log::Level::warn, fmt::format("rank {}, GPU {}: {}", log::rank(),
                                               cuda::address(device.index), warning));
  }
  connect_devices(*tp_, device, {"tensor"}, watchdog_);
  connect_devices(*dp_, device, {"data"}, watchdog_);
  connect_devices(*pp_, device, {"pipeline", true, part_for_stages(world_, device)}, watchdog_);
}

namespace {

// The world, then the groups of its axes, as a rank is in them.
constexpr std::array kGroups{"world", "pipeline", "data", "tensor"};

// Of each of kGroups, the first member of the one that `rank` is in.
std::array<int, kGroups.size()> first_peers(int rank, const MeshShape& shape) {
  const int tp = rank % shape.tp, dp = rank / shape.tp % shape.dp;
  return {0, dp * shape.tp + tp, rank - dp * shape.tp, rank - tp};
}

}  // namespace

void Mesh::check_in_step() const {
  if (world_.size() == 1) return;
  const Tensor own = Tensor::from(std::vector<int64_t>{world_.collectives(), pp_->collectives(),
                                                       dp_->collectives(), tp_->collectives()},
                                  {kGroups.size()});
  const Tensor all = Tensor::empty({world_.size(), kGroups.size()}, DType::i64);
  world_.all_gather(own, all).wait();
  for (int rank = 0; rank < world_.size(); ++rank)
    for (size_t group = 0; group < kGroups.size(); ++group) {
      const int peer = first_peers(rank, shape_)[group];
      const auto of = [&](int one) { return all.data<int64_t>()[one * kGroups.size() + group]; };
      if (of(rank) == of(peer)) continue;
      throw Error(ExitCode::internal,
                  fmt::format("rank {} has been in {} exchanges of the {} group and rank {} in {}: "
                              "the ranks are not in the same exchange, and what they have computed "
                              "since is wrong. The same command goes on from the last commit",
                              rank, of(rank), kGroups[group], peer, of(peer)));
    }
}

void Mesh::share_last_stage(const Tensor& tensor) const {
  pp_->broadcast(tensor, shape_.pp - 1).wait();
}

void Mesh::share_results(const Tensor& numbers) const {
  dp_->all_reduce_sum(numbers).wait();
  share_last_stage(numbers);
}

}  // namespace skein
