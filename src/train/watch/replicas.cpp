// Each rank makes a number of each tensor, and one of all of them; ranks exchange only that one
// until some differ.
#include "skein/train/watch/replicas.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

#include "skein/core/error.h"
#include "skein/core/host.h"
#include "skein/kernels/reduce.h"

namespace skein::train {
namespace {

// Of a tensor, which are digested side by side; their number changes no digest.
int64_t parts_of(const Tensor& tensor) {
  constexpr int64_t kPartBytes = 16 << 10, kMostParts = 128;
  return std::clamp<int64_t>(tensor.bytes() / kPartBytes, 1, kMostParts);
}

// By tensor.
std::vector<int64_t> digests_of(const std::vector<Replicated>& all) {
  if (all.empty()) return {};
  std::vector<int64_t> begins{0};  // of each tensor's parts
  for (const Replicated& one : all) begins.push_back(begins.back() + parts_of(one.held));
  const Tensor parts = Tensor::empty({begins.back()}, DType::i64, all.front().held.device());
  for (size_t i = 0; i < all.size(); ++i)
    on_device(parts.device(), [&](auto device) {
      kernels::digest(device, all[i].held, Out(parts.flat(begins[i], begins[i + 1] - begins[i])));
    });
  const Tensor here = parts.to(Device{});
  std::vector<int64_t> made(all.size());
  for (size_t i = 0; i < made.size(); ++i)
    made[i] = std::accumulate(here.data<int64_t>() + begins[i],
                              here.data<int64_t>() + begins[i + 1], uint64_t{0});
  return made;
}

// The ranks of a group that should hold the same.
struct Peers {
  Group& group;
  bool Replicated::*over;
};

// What these peers hold alike.
struct Alike {
  std::vector<std::string> names;
  std::vector<int64_t> digests;

  Alike(const std::vector<Replicated>& all, const std::vector<int64_t>& of_all,
        const Peers& peers) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (!(all[i].*peers.over)) continue;
      names.push_back(all[i].name);
      digests.push_back(of_all[i]);
    }
  }
  // One number of all.
  int64_t digest() const {
    constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
    uint64_t made = 0;
    for (const int64_t one : digests) made = made * kFactor + static_cast<uint64_t>(one);
    return static_cast<int64_t>(made);
  }
};

// Those that are not as most of them are; all of them where none are most.
std::vector<size_t> odd_ones(const std::vector<int64_t>& digests) {
  std::map<int64_t, size_t> times;
  for (const int64_t digest : digests) ++times[digest];
  const auto most =
      std::ranges::max_element(times, {}, [](const auto& each) { return each.second; });
  std::vector<size_t> odd;
  for (size_t i = 0; i < digests.size(); ++i)
    if (2 * most->second <= digests.size() || digests[i] != most->first) odd.push_back(i);
  return odd;
}

std::string finding_text(const std::vector<size_t>& odd, const std::vector<std::string>& ranks,
                         const std::string& tensor) {
  std::string who;
  for (size_t i = 0; i < odd.size(); ++i)
    who += (i == 0 ? "" : i + 1 == odd.size() ? " and " : ", ") + ranks[odd[i]];
  const bool some = odd.size() < ranks.size();
  return fmt::format(
      "{} {} {} the {} ranks that hold the same of {}: other bits are there, and not by training. "
      "A memory or a processor has failed without a word, or this is an error of the program; "
      "{}, and start again: the run resumes from its last checkpoint",
      who, odd.size() == 1 ? "differs" : "differ", some ? "from the rest of" : "among",
      ranks.size(), tensor, some ? "test that host, or leave it out" : "test these hosts");
}

std::string own_name(const Mesh& mesh) {
  return fmt::format("rank {} (host {})", mesh.world().rank(), host_name());
}

// Collective over the group: what differs first; "" for nothing.
std::string first_difference(const Alike& own, Group& group, const std::string& rank) {
  const auto ranks = group.all_gather(rank);
  const auto count = std::ssize(own.digests);
  const Tensor gathered = Tensor::empty({group.size() * count}, DType::i64);
  group.all_gather(Tensor::from(own.digests, {count}), gathered).wait();
  for (size_t i = 0; i < own.names.size(); ++i) {
    std::vector<int64_t> of_ranks;
    for (int64_t r = 0; r < group.size(); ++r)
      of_ranks.push_back(gathered.data<int64_t>()[r * count + static_cast<int64_t>(i)]);
    if (std::ranges::count(of_ranks, of_ranks.front()) < std::ssize(of_ranks))
      return finding_text(odd_ones(of_ranks), ranks, own.names[i]);
  }
  return "";
}

// The same of the stages. Few of them hold a tensor of others, so each tells what it holds.
std::string stage_difference(const Alike& own, Group& stages, const std::string& rank) {
  std::string told = rank;
  for (size_t i = 0; i < own.names.size(); ++i)
    told += fmt::format("\n{} {}", own.digests[i], own.names[i]);
  struct Holders {
    std::vector<std::string> ranks;
    std::vector<int64_t> digests;
  };
  std::map<std::string, Holders> of_names;
  for (const std::string& text : stages.all_gather(told)) {
    std::istringstream lines(text);
    std::string holder, name;
    getline(lines, holder);
    for (int64_t digest = 0; lines >> digest && lines.get() && getline(lines, name);) {
      of_names[name].ranks.push_back(holder);
      of_names[name].digests.push_back(digest);
    }
  }
  for (const auto& [name, all] : of_names)
    if (std::ranges::count(all.digests, all.digests.front()) < std::ssize(all.digests))
      return finding_text(odd_ones(all.digests), all.ranks, name);
  return "";
}

}  // namespace

void check_replicas(const std::vector<Replicated>& all, const Mesh& mesh) {
  const Peers both[] = {{mesh.dp(), &Replicated::over_data}, {mesh.tp(), &Replicated::over_shards}};
  if (mesh.world().size() == 1) return;
  const std::vector<int64_t> digests = digests_of(all);
  const std::string rank = own_name(mesh);
  std::string found =
      stage_difference(Alike(all, digests, {mesh.pp(), &Replicated::over_stages}), mesh.pp(), rank);
  bool differs = !found.empty();
  for (const Peers& peers : both) {
    const int64_t own = Alike(all, digests, peers).digest();
    differs = peers.group.any(peers.group.max(own) != own) || differs;
  }
  if (!mesh.world().any(differs)) return;
  for (const Peers& peers : both) {
    const std::string text = first_difference(Alike(all, digests, peers), peers.group, rank);
    if (found.empty()) found = text;
  }
  for (const std::string& text : mesh.world().all_gather(found))
    if (!text.empty()) fail("{}", text);
  SKEIN_CHECK(false);
}

}  // namespace skein::train
