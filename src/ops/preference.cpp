#include "skein/ops/preference.h"

#include <algorithm>
#include <cmath>

#include "skein/core/numbers.h"

#include "checks.h"

namespace skein::ops {
namespace {

// The answers of one sample, and what their loss is so far.
class Sample {
 public:
  Sample(std::span<const double> scores, std::span<const float> known,
         const PreferenceLossConfig& config)
      : scores_(scores),
        known_(known),
        config_(config),
        made_{0, std::vector<double>(scores.size())} {
    for (size_t k = 0; k < scores.size(); ++k)
      if (column(k, data::kKnownKind) != 0) answers_.push_back(k);
  }

  PreferenceLoss made() && { return std::move(made_); }
  data::PreferenceKind kind() const {
    return answers_.empty() ? data::PreferenceKind::none
                            : static_cast<data::PreferenceKind>(
                                  static_cast<int>(column(answers_.front(), data::kKnownKind)));
  }

  void ranked() {
    size_t pairs = 0;
    for_pairs([&](size_t, size_t) { ++pairs; });
    for_pairs([&](size_t better, size_t worse) {
      const double gap =
          scores_[better] - scores_[worse] -
          config_.margin * (column(better, data::kKnownGrade) - column(worse, data::kKnownGrade));
      const double share = 1 / static_cast<double>(pairs), slope = -share / (1 + std::exp(gap));
      made_.loss -= share * log_sigmoid(gap);
      made_.slopes[better] += slope;
      made_.slopes[worse] -= slope;
      centre(better, worse, share);
    });
  }

  void best() {
    double most = scores_[answers_.front()], sum = 0;
    for (size_t k : answers_) most = std::max(most, scores_[k]);
    for (size_t k : answers_) sum += std::exp(scores_[k] - most);
    for (size_t k : answers_) {
      const bool is_best = column(k, data::kKnownValue) > 0;
      made_.slopes[k] += std::exp(scores_[k] - most) / sum - is_best;
      if (is_best) made_.loss += most + std::log(sum) - scores_[k];
    }
    for_pairs([&](size_t better, size_t worse) {
      centre(better, worse, 1 / static_cast<double>(answers_.size() - 1));
    });
  }

  void scored() {
    const double share = 1 / static_cast<double>(answers_.size());
    for (size_t k : answers_) {
      const double miss = scores_[k] - column(k, data::kKnownValue);
      made_.loss += share * miss * miss;
      made_.slopes[k] += 2 * share * miss;
    }
  }

 private:
  double column(size_t answer, data::KnownColumn which) const {
    return known_[answer * data::kKnownColumns + which];
  }

  template <class Use>
  void for_pairs(const Use& use) const {
    for (size_t better : answers_)
      for (size_t worse : answers_)
        if (column(better, data::kKnownValue) > column(worse, data::kKnownValue))
          use(better, worse);
  }

  void centre(size_t better, size_t worse, double share) {
    const double sum = scores_[better] + scores_[worse];
    made_.loss += share * config_.centring * sum * sum;
    made_.slopes[better] += 2 * share * config_.centring * sum;
    made_.slopes[worse] += 2 * share * config_.centring * sum;
  }

  std::span<const double> scores_;
  std::span<const float> known_;
  const PreferenceLossConfig& config_;
  std::vector<size_t> answers_;
  PreferenceLoss made_;
};

}  // namespace

PreferenceLoss preference_loss(std::span<const double> scores, std::span<const float> known,
                               const PreferenceLossConfig& config) {
  check(known.size() == scores.size() * data::kKnownColumns,
        "preference_loss: known must have {} numbers for each of {} scores, not {} in all",
        int{data::kKnownColumns}, scores.size(), known.size());
  Sample sample(scores, known, config);
  switch (sample.kind()) {
    case data::PreferenceKind::none: break;
    case data::PreferenceKind::ranked: sample.ranked(); break;
    case data::PreferenceKind::best: sample.best(); break;
    case data::PreferenceKind::scored: sample.scored(); break;
  }
  return std::move(sample).made();
}

Var preference_losses(const Var& scores, const Tensor& known, const PreferenceLossConfig& config) {
  check_operands("preference_losses",
                 {{"scores", "N", scores.value()}, on_host({"known", "BKE", known, DType::f32})});
  const int64_t samples = known.dim(0), answers = known.dim(1);
  check(scores.value().size() == samples * answers && known.dim(2) == data::kKnownColumns,
        "preference_losses: known must be [B,K,{}] for B * K scores: scores {}, known {}",
        int{data::kKnownColumns}, scores.shape(), known.shape());
  const Tensor here = scores.value().to(Device{}).to(DType::f64),
               slopes = Tensor::empty({samples * answers}, DType::f64),
               losses = Tensor::empty({samples}, DType::f64);
  for (int64_t i = 0; i < samples; ++i) {
    const auto rows = static_cast<size_t>(answers), at = static_cast<size_t>(i) * rows;
    const PreferenceLoss one = preference_loss(
        here.span<double>().subspan(at, rows),
        known.span<float>().subspan(at * data::kKnownColumns, rows * data::kKnownColumns), config);
    losses.data<double>()[i] = one.loss;
    std::copy(one.slopes.begin(), one.slopes.end(), slopes.data<double>() + at);
  }
  const DType sums = gradient_dtype(scores.value().dtype());
  return record(losses.to(sums).to(scores.value().device()), {scores}, false,
                [scores, slopes, answers](const Tensor& row_weights) {
                  const Tensor weights = row_weights.to(Device{}).to(DType::f64),
                               dx = Tensor::empty(slopes.shape(), DType::f64);
                  for (int64_t i = 0; i < dx.size(); ++i)
                    dx.data<double>()[i] =
                        slopes.data<double>()[i] * weights.data<double>()[i / answers];
                  scores.add_gradient(dx.to(scores.value().dtype()).to(scores.value().device()));
                });
}

}  // namespace skein::ops
