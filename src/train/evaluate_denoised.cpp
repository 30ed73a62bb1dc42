#include "skein/train/evaluate_denoised.h"

#include <algorithm>
#include <numeric>

#include "skein/core/strings.h"
#include "skein/models/architecture.h"
#include "skein/models/terms.h"
#include "skein/ops/loss.h"
#include "skein/train/judge.h"

namespace skein::train {
namespace {

constexpr uint64_t kNoisingSeed = 20191029;

class DenoisingTerm : public Objective {
 public:
  DenoisingTerm(const Predictor& predictor, double label_smoothing)
      : tokens_(predictor, label_smoothing) {}

  Losses losses(const Var& output, const LossPass& pass) const override {
    Losses made = tokens_.losses(output, pass);
    if (pass.train) return made;
    const data::Batch& batch = *pass.batch;
    const Tensor hidden = Tensor::empty(batch.weights.shape(), DType::f32),
                 shown = Tensor::empty(batch.weights.shape(), DType::f32);
    for (int64_t i = 0; i < batch.weights.size(); ++i) {
      const float weight = batch.weights.data<float>()[i], known = batch.known.data<float>()[i];
      hidden.data<float>()[i] = weight * known;
      shown.data<float>()[i] = weight * (1 - known);
    }
    const Tensor none = Tensor::zeros({2 * batch.weights.size()}, made.row_weights.dtype(),
                                      made.row_weights.device());
    return {ops::end_to_end({made.rows, made.rows}), none, {hidden, shown}};
  }
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override {
    return tokens_.answers(output, pass);
  }

 private:
  TokenTerm tokens_;
};

// Tokens that are right, and all of them, of hidden and of shown ones.
void count(const data::Batch& batch, const std::vector<Tensor>& answers, const Tensor& counts) {
  for (int64_t i = 0; i < batch.weights.size(); ++i) {
    if (batch.weights.data<float>()[i] == 0) continue;
    int64_t* const of = counts.data<int64_t>() + (batch.known.data<float>()[i] == 0 ? 2 : 0);
    of[0] += answers[0].data<int32_t>()[i] == batch.targets.data<int32_t>()[i];
    ++of[1];
  }
}

}  // namespace

data::DenoisingRows denoising_rows(const ModelConfig& model, const ParallelConfig& parallel) {
  return {.source = model.architecture->source_context(model),
          .target = model.context,
          .multiple = row_multiple(parallel)};
}

std::unique_ptr<Objective> denoising_objective(const LocalModel& model, const LossConfig& loss) {
  SKEIN_CHECK(model.predictor() != nullptr);
  return std::make_unique<DenoisingTerm>(*model.predictor(), loss.label_smoothing);
}

TokenScores DenoisedEvaluation::all() const {
  TokenScores sum = hidden;
  sum.add(shown);
  return sum;
}

std::string DenoisedEvaluation::text() const {
  std::string made = fmt::format("loss {:.4f}", shown_number(all().loss()));
  const auto add = [&](const char* called, const TokenScores& of) {
    if (of.tokens > 0)
      made += fmt::format(", of {} {} tokens {:.4f} and {:.1f}% right", readable_count(of.tokens),
                          called, shown_number(of.loss()), 100 * of.accuracy());
  };
  add("hidden", hidden);
  add("shown", shown);
  return made;
}

NamedValues DenoisedEvaluation::values() const {
  NamedValues made{{"loss", all().loss()}, {"perplexity", all().perplexity()}};
  const auto add = [&](const std::string& called, const TokenScores& of) {
    if (of.tokens == 0) return;
    made.emplace_back(called + "_loss", of.loss());
    made.emplace_back(called + "_accuracy", of.accuracy());
  };
  add("hidden", hidden);
  add("shown", shown);
  return made;
}

std::unique_ptr<data::DenoisingLoader> validation_samples(const std::vector<std::string>& entries,
                                                          const data::DenoisingRows& rows,
                                                          const data::DataConfig& data,
                                                          const data::NoiseConfig& noise) {
  data::NoiseConfig fixed = noise;
  fixed.fixed = true;
  data::DataConfig shuffled = data;
  shuffled.shuffle = true;
  return std::make_unique<data::DenoisingLoader>(entries, rows, kNoisingSeed, shuffled, fixed);
}

DenoisedEvaluation evaluate_denoised(const EvaluatedModel& model,
                                     const data::DenoisingLoader& samples, int64_t asked) {
  const int64_t all = samples.samples_per_epoch(), used = asked > 0 ? std::min(asked, all) : all;
  const Tensor counts = Tensor::zeros({4}, DType::i64);
  const auto nats =
      judge(with_room_for_logits(model, samples.target_length(), samples.vocab_size()), samples,
            used, 2, true, [&](const data::Batch& batch, const std::vector<Tensor>& answers) {
              count(batch, answers, counts);
            });
  model.mesh.share_results(counts);
  const auto scores = [&](size_t of) {
    const int64_t* found = counts.data<int64_t>() + 2 * of;
    return TokenScores{std::accumulate(nats[of].begin(), nats[of].end(), 0.0), found[1], found[0]};
  };
  return {scores(0), scores(1)};
}

}  // namespace skein::train
