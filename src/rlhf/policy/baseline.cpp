// What advantages are compared with: the batch (whitening, explained variance) or the other
// responses to the prompt.
#include <cmath>

#include "skein/core/error.h"
#include "skein/rlhf/policy/advantage.h"

namespace skein::rlhf::policy {
namespace {

constexpr double kVarianceFloor = 1e-8;
constexpr double kStdFloor = 1e-4;

// Over responses in order, of each one's sum over its tokens in order.
template <class OfToken>
double sum_over_tokens(std::span<const Trajectory> trajectories, OfToken&& of_token) {
  double total = 0;
  for (const Trajectory& trajectory : trajectories) {
    if (!trajectory.counted) continue;
    double sum = 0;
    for (size_t t = 0; t < trajectory.logp.size(); ++t) sum += of_token(trajectory, t);
    total += sum;
  }
  return total;
}

// Of one number a token; 0 where no token counts.
struct Moments {
  double mean = 0, variance = 0;
};

template <class OfToken>
Moments moments_of(std::span<const Trajectory> trajectories, OfToken&& of_token) {
  const double tokens = sum_over_tokens(trajectories, [](const Trajectory&, size_t) { return 1; });
  if (tokens == 0) return {};
  Moments found;
  found.mean = sum_over_tokens(trajectories, of_token) / tokens;
  const auto square = [&](const Trajectory& trajectory, size_t t) {
    const double distance = of_token(trajectory, t) - found.mean;
    return distance * distance;
  };
  found.variance = sum_over_tokens(trajectories, square) / tokens;
  return found;
}

void check_field(std::span<const Trajectory> trajectories, std::vector<double> Trajectory::*field) {
  for (const Trajectory& trajectory : trajectories)
    if (trajectory.counted) SKEIN_CHECK_EQ((trajectory.*field).size(), trajectory.logp.size());
}

struct GroupMoments {
  double sum = 0, mean = 0, std = 0;
  bool flat = true;
};

GroupMoments group_moments(std::span<const double> rewards) {
  GroupMoments found;
  const double count = rewards.size();
  for (const double reward : rewards) {
    found.sum += reward;
    found.flat = found.flat && reward == rewards[0];
  }
  found.mean = found.sum / count;
  double squares = 0;
  for (const double reward : rewards) squares += (reward - found.mean) * (reward - found.mean);
  found.std = std::sqrt(squares / (count - 1));
  return found;
}

// Equal rewards give exactly 0, whatever rounding does to their mean.
double group_advantage(GroupBaseline baseline, double reward, const GroupMoments& group,
                       double count) {
  if (group.flat) return 0;
  if (baseline == GroupBaseline::leave_one_out) return reward - (group.sum - reward) / (count - 1);
  const double distance = reward - group.mean;
  return baseline == GroupBaseline::mean ? distance : distance / (group.std + kStdFloor);
}

}  // namespace

void whiten(std::span<Trajectory> trajectories) {
  check_field(trajectories, &Trajectory::advantages);
  const Moments all = moments_of(trajectories, [](const Trajectory& trajectory, size_t t) {
    return trajectory.advantages[t];
  });
  const double scale = 1 / std::sqrt(all.variance + kVarianceFloor);
  for (Trajectory& trajectory : trajectories)
    if (trajectory.counted)
      for (double& x : trajectory.advantages) x = (x - all.mean) * scale;
}

double explained_variance(std::span<const Trajectory> trajectories) {
  check_field(trajectories, &Trajectory::values);
  check_field(trajectories, &Trajectory::returns);
  const Moments whole = moments_of(
      trajectories, [](const Trajectory& trajectory, size_t t) { return trajectory.returns[t]; });
  const Moments rest = moments_of(trajectories, [](const Trajectory& trajectory, size_t t) {
    return trajectory.returns[t] - trajectory.values[t];
  });
  return whole.variance > 0 ? 1 - rest.variance / whole.variance : 0;
}

GroupAdvantages group_advantages(GroupBaseline baseline, std::span<const double> rewards,
                                 int64_t group) {
  require(group >= 2, "{} responses to a prompt give no baseline; sample at least 2", group);
  SKEIN_CHECK_EQ(std::ssize(rewards) % group, 0);
  GroupAdvantages found;
  for (int64_t first = 0; first < std::ssize(rewards); first += group) {
    const auto mine = rewards.subspan(first, group);
    const GroupMoments of_group = group_moments(mine);
    for (const double reward : mine)
      found.advantages.push_back(group_advantage(baseline, reward, of_group, group));
    found.flat_groups += of_group.flat;
  }
  return found;
}

}  // namespace skein::rlhf::policy
