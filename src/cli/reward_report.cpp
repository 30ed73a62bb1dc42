#include "reward_report.h"

#include "skein/core/log.h"
#include "skein/rlhf/rewards/reward_model.h"
#include "skein/rlhf/rewards/reward_task.h"

namespace skein {

void tell_length_warning(const PreferenceReport& report) {
  if (!report.length_explains()) return;
  const bool longer = report.longer >= 0.5;
  log::warn(
      "\"the {} answer is better\" alone is right for {:.4f} of the pairs, the model for {:.4f}: "
      "it may have learnt nothing but length",
      longer ? "longer" : "shorter", longer ? report.longer : 1 - report.longer, report.accuracy);
}

bool is_reward_model(const Source& source) {
  return reward_head(source.notes, source.info.path) != nullptr;
}

PreferenceReport evaluate_reward(const std::string& path, const std::vector<std::string>& files,
                                 const ParallelConfig& parallel, int64_t batch, Group& world) {
  Mesh mesh(world, mesh_shape(parallel, world.size()));
  RewardModel model(path, parallel, DType::f32, batch, mesh);
  const auto samples =
      model.source(read_formed(model.form(), {.files = files}, LongPrompts::cut, "test").samples);
  const PreferenceScores found = model.judged(*samples);
  const PreferenceReport report = report_of(samples->all(), found.scores, found.loss);
  log::info("{}: {}", path, report.text());
  tell_length_warning(report);
  return report;
}

}  // namespace skein
