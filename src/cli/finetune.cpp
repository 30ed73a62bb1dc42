#include "skein/train/tasks/finetune.h"

#include "skein/models/architecture.h"
#include "skein/train/graphs/graph_task.h"
#include "skein/train/tasks/image_task.h"
#include "skein/train/trainer.h"

#include "long_run.h"

namespace skein::cli {
namespace {

std::unique_ptr<train::Task> task_for(const Options& options, train::FinetuneConfig& config,
                                      const train::GraphTaskConfig& graphs,
                                      const train::TrainedModel& source) {
  const Architecture& kind = *config.run.model.architecture;
  if (kind.reads() != Reads::graphs) {
    train::refuse_graph_options(options, kind);
    return train::finetune_task(options, config, source);
  }
  train::refuse_augmentation(options, kind);
  train::refuse_texts(options, config);
  require(!options.changed("task.metric"),
          "task.metric is for texts and pictures; graphs are judged by accuracy, squared error or "
          "AUC; leave it out");
  return train::finetuned_graph_task(config, graphs, source);
}

}  // namespace

int finetune_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  train::FinetuneConfig config = train::finetune_defaults();
  train::GraphTaskConfig graphs;
  Options options(
      "skein finetune",
      "Teaches a pretrained model labels of texts, pairs, words, pictures, graphs or nodes, or "
      "numbers; or the targets of sources, at any pipeline x data x tensor layout.");
  bind(options, config);
  bind(options, graphs);
  if (!parse_run(options, args, config.run)) return 0;
  settle(options, config);
  AdaptedRun run = begin_adapted(options, config.run, world, true);
  const auto task = task_for(options, config, graphs, run.source);
  settle_run(options, config.run, run);
  if (looked_ahead(config.run, *task, *world, run.source.info)) return 0;
  const train::TrainResult result = train::train(config.run, *task, *world, options.resolved(),
                                                 run.source.info, std::move(run.claim));
  return code_of_run(result.stopped, result.committed);
}

}  // namespace skein::cli
