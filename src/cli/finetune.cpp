#include "skein/train/finetune.h"

#include <map>

#include "label_model.h"
#include "skein/core/log.h"
#include "skein/train/run_state.h"
#include "skein/train/trainer.h"

namespace skein {
namespace {

using Values = std::map<std::string, std::string>;

Values given_model(const Options& options) {
  Values given;
  for (const auto& [key, value] : options.values())
    if (key.starts_with("model.") && options.given(key)) given[key] = value;
  return given;
}

// The run's own checkpoint where it has one, else the one it begins from.
Source start_of(const FinetuneConfig& c, Group& world) {
  if (!c.run.run.dir.empty())
    if (find_checkpoint(c.run.run.dir + "/checkpoints", world)) return open_source(c.run.run.dir + "/checkpoints", world);
  require(!c.run.checkpoint.load.empty(), "checkpoint.load names no pretrained model to begin from; give the folder of its run");
  return open_source(c.run.checkpoint.load, world);
}

void take_model(FinetuneConfig& c, const ModelConfig& stored, bool with_deviation) {
  const ModelConfig asked = c.run.model;
  c.run.model = stored;
  c.run.model.dropout = asked.dropout;
  if (with_deviation) c.run.model.init_std = asked.init_std;
}

// The options as the run has them: what the model and the data said is told with its origin.
void settle(Options& options, const FinetuneConfig& c, const Values& given, const Source& source) {
  const Values final = config_values(c.run);
  for (const auto& [key, value] : options.values()) {
    const auto settled = final.find(key);
    if (settled == final.end() || settled->second == value) continue;
    const bool of_model = key.starts_with("model.");
    require(!of_model || !given.contains(key), "{}={} was given, but the model of {} with the head of this task has {}; leave it out", key, value,
            source.info.path, settled->second);
    if (key != "train.precision") options.set(key, settled->second, of_model ? source.info.path : "the data");
  }
}

}  // namespace

int finetune_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  FinetuneConfig config = finetune_defaults();
  Options options("skein finetune", "Teaches a pretrained model labels of texts, pairs or words, or numbers, at any pipeline x data x tensor layout.");
  bind(options, config);
  if (!parse(options, args, false, [&] { settle_precision(options, "train.precision", config.run.train.precision, config.run.parallel.device); })) return 0;
  world = begin_world();
  const Values given = given_model(options);
  const Source source = start_of(config, *world);
  take_model(config, source.model, given.contains("model.init_std"));
  check_tokenizer(source);
  const auto task = label_task(config, source.tokenizer);
  settle(options, config, given, source);
  const TrainResult result = train(config.run, *task, *world, options.resolved());
  return static_cast<int>(result.stopped ? ExitCode::requeue : ExitCode::done);
}

}  // namespace skein
