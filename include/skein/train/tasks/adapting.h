// What tasks have in common that begin from another task's model: how long they take, and what they
// say when they go on behind a checkpoint that was not theirs as they are now.
#pragma once

#include <cstdint>
#include <string>

#include "skein/core/error.h"
#include "skein/text/template.h"
#include "skein/train/config.h"

namespace skein::train {

// Passes over the training data.
struct Passes {
  std::string option;      // that says how many are made, such as "sft.epochs"
  double count = 1;        // as it says
  int64_t samples = 0;     // of one pass
  double evaluations = 1;  // made in one pass, by themselves
};
// Fills in what adapting_defaults has left open but for the warm-up, which comes next: train.steps,
// rounded up, and validation.every, both at least 1. Usage errors for passes that are not above 0,
// and for more than 1e12 steps.
void fill_in(PretrainConfig& config, const Passes& passes);
// After that the warm-up, where it is left open: so many percent of the steps, but at least one
// step. Without it the only step of a run would be the last of its decay, whose rate is 0.
void fill_in_warmup(PretrainConfig& config, int64_t percent);
// Both for `skein finetune`, by task.epochs; and where lr.* is left open, a tenth of the steps of
// warm-up and a linear decay. samples: of an epoch.
void fill_in_finetuning(PretrainConfig& config, double epochs, int64_t samples);

// A usage error for a model that reads prompts both ways, whose answers `task`, such as "skein
// sft", would learn as if they were read one way only.
void require_one_way(const ModelConfig& model, const std::string& task);
// A usage error for a decoder whose probability of a token hangs on what follows it, so that
// `task`, such as "skein ppo", would score answers by another distribution than they are drawn
// from.
void require_scored_as_drawn(const ModelConfig& model, const std::string& task);

// For Task::check_notes; origin: the checkpoint. Usage errors unless it is a run of that kind...
void require_run_of(const std::string& kind, bool is_one, const std::string& origin);
// ... that learnt with this value of the option, ...
template <class Value>
void require_unchanged(const std::string& option, const Value& before, const Value& now,
                       const std::string& origin) {
  require(before == now,
          "{} was trained with {}={}, now it is {}; give the same, or another run.dir to begin "
          "anew",
          origin, option, before, now);
}
// ... and by this chat template.
void require_unchanged(const text::StoredTemplate& before, const text::StoredTemplate& now,
                       const std::string& origin);
// Warns that the training samples, or what else they are `called`, are others now.
void warn_of_other_samples(const std::string& origin, const std::string& called = "samples");

}  // namespace skein::train
