#include "skein/train/tasks/smoothed_loss.h"

#include "skein/models/terms.h"

namespace skein::train {
namespace {

std::vector<Term> terms(const LossConfig& loss, bool perplexity) {
  if (loss.label_smoothing == 0) return {{}};
  return {{"smoothed_loss"},
          {.name = "plain_loss",
           .over = Term::Over::places,
           .learnt = false,
           .perplexity = perplexity}};
}

}  // namespace

std::unique_ptr<Objective> token_objective(const LocalModel& model, const LossConfig& loss) {
  if (loss.label_smoothing == 0) return nullptr;
  SKEIN_CHECK(model.predictor() != nullptr);
  return std::make_unique<TokenTerm>(*model.predictor(), loss.label_smoothing);
}

std::unique_ptr<Objective> class_objective(const LocalModel& model, const LossConfig& loss) {
  if (loss.label_smoothing == 0) return nullptr;
  SKEIN_CHECK(model.scorer() != nullptr);
  return std::make_unique<LabelTerm>(*model.scorer(), loss.label_smoothing);
}

std::vector<Term> token_terms(const LossConfig& loss) { return terms(loss, true); }
std::vector<Term> class_terms(const LossConfig& loss) { return terms(loss, false); }

}  // namespace skein::train
