#include "skein/train/tasks/token_loss.h"

#include "skein/models/terms.h"

namespace skein::train {

std::unique_ptr<Objective> token_objective(const LocalModel& model, const LossConfig& loss) {
  if (loss.label_smoothing == 0) return nullptr;
  SKEIN_CHECK(model.predictor() != nullptr);
  return std::make_unique<TokenTerm>(*model.predictor(), loss.label_smoothing);
}

std::vector<Term> token_terms(const LossConfig& loss) {
  if (loss.label_smoothing == 0) return {{}};
  return {{"smoothed_loss"},
          {.name = "plain_loss", .over = Term::Over::places, .learnt = false, .perplexity = true}};
}

}  // namespace skein::train
