#include "skein/rlhf/rewards/evaluate_reward.h"

#include "skein/core/log.h"
#include "skein/rlhf/rewards/reward_model.h"
#include "skein/rlhf/rewards/reward_task.h"

namespace skein::rlhf::rewards {

PreferenceReport evaluate_reward(const std::string& path, const std::vector<std::string>& files,
                                 const ParallelConfig& parallel, int64_t batch, Group& world) {
  Mesh mesh(world, mesh_shape(parallel, world.size()));
  RewardModel model(path, parallel, DType::f32, batch, mesh);
  const auto samples =
      model.source(read_formed(model.form(), {.files = files}, LongPrompts::cut, "test"));
  const PreferenceScores found = model.judged(*samples);
  const PreferenceReport report = report_of(samples->all(), found.scores, found.loss);
  log::info("{}: {}", path, report.text());
  if (const std::string warning = report.length_warning(); !warning.empty())
    log::warn("{}", warning);
  return report;
}

}  // namespace skein::rlhf::rewards
