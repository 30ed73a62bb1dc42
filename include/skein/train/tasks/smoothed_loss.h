// What tasks that predict tokens or classes learn by the options of their loss.
#pragma once

#include <memory>
#include <vector>

#include "skein/train/config.h"
#include "skein/train/task.h"

namespace skein::train {

// The loss with smoothed targets; null where the options ask for none: the model's own objective
// then. model: of the last stage, with a head over a vocabulary.
std::unique_ptr<Objective> token_objective(const LocalModel& model, const LossConfig& loss);
// The same over the classes of a model with a head for labels.
std::unique_ptr<Objective> class_objective(const LocalModel& model, const LossConfig& loss);
// Their terms: without smoothing one without a name; with it what is learnt, and beside it the
// plain loss, of tokens with its perplexity.
std::vector<Term> token_terms(const LossConfig& loss);
std::vector<Term> class_terms(const LossConfig& loss);

}  // namespace skein::train
