#include "skein/rlhf/rewards/evaluate_reward.h"

#include "skein/core/log.h"
#include "skein/rlhf/rewards/reward_model.h"
#include "skein/rlhf/rewards/reward_task.h"
#include "skein/train/taken_over.h"

namespace skein::rlhf::rewards {

PreferenceReport evaluate_reward(const RewardEvaluation& asked, Group& world) {
  Mesh mesh(world, mesh_shape(asked.parallel, world.size()));
  RewardModel model(asked.path, asked.parallel, DType::f32, asked.batch, mesh);
  train::take_over(asked.options, model.head().reading, model.origin());
  const PreferenceTaskConfig& c = asked.config;
  const auto samples =
      model.source(read_formed(model.form(), files_of(c, asked.files), c.long_prompts, "test"));
  const PreferenceScores found = model.judged(*samples);
  const PreferenceReport report = report_of(samples->all(), found.scores, found.loss);
  log::info("{}: {}", asked.path, report.text());
  if (const std::string warning = report.length_warning(); !warning.empty())
    log::warn("{}", warning);
  return report;
}

}  // namespace skein::rlhf::rewards
