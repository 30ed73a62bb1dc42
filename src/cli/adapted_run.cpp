#include "adapted_run.h"

#include "skein/core/error.h"
#include "skein/models/architecture.h"
#include "skein/train/run_folder.h"

#include "long_run.h"

namespace skein::cli {

using Values = std::map<std::string, std::string>;

namespace {

Values given_model(const Options& options) {
  Values given;
  for (const auto& [key, value] : options.values())
    if (is_of_model(key) && options.given(key)) given[key] = value;
  return given;
}

AdaptedRun start_of(const train::PretrainConfig& c, Group& world) {
  auto claim = train::RunFolder::claim(c.run, world);
  if (claim)
    if (const auto own = find_own_checkpoint(c.run, world))
      return {{}, train::trained_model(*own, world), true, std::move(claim)};
  require(!c.checkpoint.load.empty(),
          "checkpoint.load names no pretrained model to begin from; give the folder of its run");
  return {{},
          train::open_trained_model(c.checkpoint.load, world, "checkpoint.load"),
          false,
          std::move(claim)};
}

void take_model(train::PretrainConfig& c, const ModelConfig& stored, const Values& given) {
  const ModelConfig own = c.model;
  c.model = stored;
  c.model.take_dropout(own);
  Options options("", "");
  bind(options, c.model);
  std::vector<std::string> keys{"model.init_std",       "model.head_std",
                                "attention.mark_first", "attention.mark_every",
                                "attention.mark_token", "attention.mark_until"};
  if (stored.architecture->reads_images())
    for (const char* key : {"model.image_height", "model.image_width"}) keys.emplace_back(key);
  for (const Architecture* one : architectures())
    for (std::string& key : one->options_of_heads()) keys.push_back(std::move(key));
  for (const std::string& key : keys)
    if (given.contains(key)) options.set(key, given.at(key), "");
}

void check_known(const train::PretrainConfig& c, int ranks) {
  train::PretrainConfig known = c;
  if (known.validation.every == -1) known.validation.every = 0;  // the data will say
  check_start(known, ranks);
}

}  // namespace

AdaptedRun begin_adapted(Options& options, train::PretrainConfig& c, std::unique_ptr<Group>& world,
                         bool pictures) {
  world = begin_run(c.run.dir);
  c.train.micro_batch_open = !options.given("train.micro_batch");
  if (c.train.micro_batch_open)
    fit_micro_batch(options, c.parallel, c.train.global_batch, c.train.micro_batch, *world);
  check_known(c, world->size());
  AdaptedRun run = start_of(c, *world);
  run.given = given_model(options);
  take_model(c, run.source.model, run.given);
  if (!pictures || !run.source.model.architecture->reads_images()) require_tokenizer(run.source);
  return run;
}

void settle_run(Options& options, const train::PretrainConfig& c, const AdaptedRun& run) {
  const Values final = config_values(c);
  for (const auto& [key, value] : options.values()) {
    const auto settled = final.find(key);
    if (settled == final.end() || settled->second == value) continue;
    const bool of_model = is_of_model(key);
    require(!of_model || !run.given.contains(key),
            "{}={} was given, but the model of {} with the head of this task has {}; leave it out",
            key, value, run.source.info.path, settled->second);
    if (key != "train.precision")
      options.set(key, settled->second, of_model ? run.source.info.path : "the data");
  }
}

}  // namespace skein::cli
