#include "skein/checkpoint/agree.h"
#include "skein/core/files/result_file.h"
#include "skein/core/log.h"
#include "skein/rlhf/rewards/reward_task.h"
#include "skein/text/tokenizer.h"
#include "skein/train/trainer.h"

#include "long_run.h"

namespace skein::cli {
namespace {

void write_report(const train::PretrainConfig& config,
                  const rlhf::rewards::PreferenceReport& report, Group& world) {
  if (config.run.dir.empty()) return;
  const std::string path = config.run.dir + "/report.json";
  checkpoint::agree(world, [&] {
    if (world.rank() == 0) write_result("run.dir", path, report.to_json());
  });
  log::info("what the model makes of data.validation: {}", path);
}

}  // namespace

int reward_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  rlhf::rewards::RewardConfig config = rlhf::rewards::reward_defaults();
  Options options("skein reward",
                  "Teaches a pretrained model which answers people prefer, at any pipeline x data "
                  "x tensor layout.");
  bind(options, config);
  if (!parse_run(options, args, config.run)) return 0;
  AdaptedRun run = begin_adapted(options, config.run, world);
  rlhf::rewards::RewardTask task(config, run.source.state.tokenizer.value(),
                                 run.source.state.notes);
  settle_run(options, config.run, run);
  if (looked_ahead(config.run, task, *world, run.source.info)) return 0;
  const train::TrainResult result = train::train(config.run, task, *world, options.resolved(),
                                                 run.source.info, std::move(run.claim));
  if (result.stopped) return code_of_run(true, result.committed);
  if (task.validates()) {
    if (const std::string warning = task.report().length_warning(); !warning.empty())
      log::warn("{}", warning);
    write_report(config.run, task.report(), *world);
  }
  return 0;
}

}  // namespace skein::cli
