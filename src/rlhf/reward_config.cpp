#include "skein/rlhf/reward_task.h"

namespace skein {

RewardConfig reward_defaults() {
  RewardConfig c;
  c.run.run.dir = "runs/reward";
  c.run.model.dropout = 0;
  c.run.train.steps = 0;
  c.run.train.global_batch = 32;
  c.run.train.micro_batch = 4;
  c.run.lr.lr = 9e-6;
  c.run.lr.min_lr = 0;
  c.run.lr.warmup = -1;
  c.run.lr.decay = LrConfig::Decay::cosine;
  c.run.optimizer.weight_decay = 0;
  c.run.validation.every = -1;
  return c;
}

namespace {

void bind_task(Options& options, RewardTaskConfig& c) {
  options.add("chat.template", c.chat_template, "chat template: none, plain, chatml, llama2, llama3 or a JSON file; empty: the checkpoint's, else plain for dialogues and none for single texts");
  options.add("reward.length", c.length, "longest prompt with an answer; 0: model.context", "tokens");
  options.add_choice("reward.long_prompts", c.long_prompts, {{"cut", LongPrompts::cut}, {"drop", LongPrompts::drop}}, "longer prompts lose their beginning, or are left out");
  options.add("reward.margin", c.loss.margin, "by so many times the difference of their grades a better answer should score higher; 0: no margin");
  options.add("reward.centring", c.loss.centring, "factor of the mean of (r+ + r-)^2 in the loss, such as 0.01");
  options.add("reward.epochs", c.epochs, "passes over data.train, where train.steps is 0");
  options.add("reward.reference_samples", c.reference_samples, "answers whose scores get mean 0 and deviation 1; 0: scores stay as they are");
}

}  // namespace

void bind(Options& options, RewardConfig& c) {
  options.add("data.train", c.run.data.train, "JSONL files of preferences to learn (docs/reward.md), plain, .gz, .xz or .zst");
  options.add("data.validation", c.run.data.validation, "JSONL files of preferences to evaluate on");
  options.add("data.reference", c.task.reference, "JSONL files of prompts with good answers, whose scores are the origin; empty: the better answers of data.train");
  options.add_choice("data.layout", c.task.layout,
                     {{"auto", PreferenceLayout::automatic}, {"pairs", PreferenceLayout::pairs}, {"dialogues", PreferenceLayout::dialogues},
                      {"summaries", PreferenceLayout::summaries}, {"best_of", PreferenceLayout::best_of}, {"shp", PreferenceLayout::shp},
                      {"ranked", PreferenceLayout::ranked}, {"scored", PreferenceLayout::scored}},
                     "of the files; auto: of each file by its first record");
  options.add_choice("data.diverging", c.task.diverging, {{"drop", Diverging::drop}, {"keep", Diverging::keep}},
                     "dialogues that differ before their last turns: left out, or their first answers that differ are compared");
  options.add("data.bad_records", c.task.bad_records, "records that cannot be used and are left out, before one is an error");
  bind_task(options, c.task);
  bind(options, c.run.model);
  bind(options, c.run.parallel);
  bind(options, c.run.train);
  bind(options, c.run.lr);
  bind(options, c.run.optimizer);
  bind_pace(options, c.run.validation);
  bind(options, c.run.checkpoint);
  bind(options, c.run.run);
}

}  // namespace skein
