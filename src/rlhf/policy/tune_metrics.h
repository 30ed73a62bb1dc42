// What an iteration of tuning came to: as numbers for metrics.jsonl, and as lines for people.
#pragma once

#include <string>
#include <vector>

#include "skein/core/values.h"
#include "skein/rlhf/policy/guards.h"
#include "skein/rlhf/policy/ppo.h"
#include "skein/train/replica.h"

#include "rollout.h"

namespace skein::rlhf::policy {

// What a step came to; nothing where nothing learnt. Each name begins with the prefix.
NamedValues step_values(const std::vector<train::Term>& terms, const train::StepResult& result,
                        const std::string& prefix = "");

// Means of what the minibatches of an iteration came to.
class StepMeans {
 public:
  void add(const NamedValues& values);
  NamedValues values() const;

 private:
  struct Sum {
    std::string name;
    double value;
    int64_t count;
  };
  std::vector<Sum> sums_;
};

// Of an iteration; evaluations are no part of it.
struct IterationCost {
  double generation = 0, scoring = 0, training = 0;  // seconds
  // rollout_flops() and those of its steps (StepResult::flops), policy and critic
  double flops = 0;
  double seconds() const { return generation + scoring + training; }
};

// Of answers that are scored, judged and weighed.
NamedValues answer_values(const Rollout& rollout, const KlFinding& kl, double beta);
// Of the scores of each source, where there are several.
NamedValues source_values(const Rollout& rollout);
// tokens: that were sampled. peak_flops: of the whole job; 0: unknown, and its share is left out.
NamedValues cost_values(const IterationCost& cost, double tokens, double peak_flops);

// "reward 0.1  score 0.2  ...", of what metrics.jsonl says of an iteration.
std::string progress_text(const NamedValues& values, double peak_flops);
// An answer with its score and KL, in one line.
std::string answer_text(const Episode& episode, const Tuning& tuning);

}  // namespace skein::rlhf::policy
