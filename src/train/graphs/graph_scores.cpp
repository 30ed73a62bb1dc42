#include "skein/train/graphs/graph_scores.h"

#include <cmath>
#include <limits>

#include "skein/core/numbers.h"
#include "skein/core/values.h"
#include "skein/train/scores.h"

namespace skein::train {
namespace {

const char* counted(const data::GraphSamples& samples) {
  return samples.form().of_nodes ? "nodes" : "graphs";
}

Scores of_classes(const LabelHead& head, const data::GraphSamples& samples,
                  const LabelAnswers& answers) {
  std::vector<int32_t> truth, found;
  std::vector<double> confidences;
  std::vector<bool> right;
  for (int64_t unit = 0; unit < samples.samples_per_epoch(); ++unit) {
    const std::vector<int32_t> classes = samples.classes(unit);
    for (int64_t place = 0; place < std::ssize(classes); ++place) {
      truth.push_back(classes[static_cast<size_t>(place)]);
      found.push_back(answers.best(unit, place));
      confidences.push_back(shares(answers, unit, place)[static_cast<size_t>(found.back())]);
      right.push_back(found.back() == truth.back());
    }
  }
  const ClassScores scores = class_scores(truth, found, head.outputs());
  const double calibration = calibration_error(confidences, right);
  return {fmt::format("loss {:.4f}, accuracy {:.4f}, macro F1 {:.4f}, Matthews {:.4f}, calibration "
                      "error {:.4f} ({} {})",
                      shown_number(answers.loss), scores.accuracy(), scores.macro_f1(),
                      scores.matthews(), shown_number(calibration), truth.size(), counted(samples)),
          {{"loss", answers.loss},
           {"accuracy", scores.accuracy()},
           {"macro_f1", scores.macro_f1()},
           {"matthews", scores.matthews()},
           {"calibration_error", calibration}},
          scores.accuracy()};
}

// How surely pairs are linked ranks them.
Scores of_links(const data::GraphSamples& samples, const LabelAnswers& answers) {
  constexpr int64_t kHits[] = {20, 50, 100};
  std::vector<bool> truth;
  std::vector<double> numbers;
  int64_t right = 0;
  for (int64_t unit = 0; unit < samples.samples_per_epoch(); ++unit) {
    const std::vector<int32_t> classes = samples.classes(unit);
    for (int64_t place = 0; place < std::ssize(classes); ++place) {
      const float* const scores = answers.at(unit, place);
      truth.push_back(classes[static_cast<size_t>(place)] == 1);
      numbers.push_back(double{scores[1]} - double{scores[0]});
      right += (numbers.back() > 0) == truth.back();
    }
  }
  const double area = area_under_curve(truth, numbers), mean = average_precision(truth, numbers);
  Scores made{fmt::format("loss {:.4f}, AUC {:.4f}, average precision {:.4f}",
                          shown_number(answers.loss), shown_number(area), shown_number(mean)),
              {{"loss", answers.loss},
               {"auc", area},
               {"average_precision", mean},
               {"accuracy", ratio(right, std::ssize(truth))}},
              std::isfinite(area) ? area : std::numeric_limits<double>::lowest()};
  for (const int64_t k : kHits) {
    made.values.emplace_back(fmt::format("hits_{}", k), hits_at(truth, numbers, k));
    made.text += fmt::format(", hits@{} {:.4f}", k, shown_number(made.values.back().second));
  }
  made.text += fmt::format(" ({} pairs)", truth.size());
  return made;
}

Scores of_numbers(const LabelHead& head, const data::GraphSamples& samples,
                  const LabelAnswers& answers) {
  std::vector<double> truth, found;
  double far = 0;
  for (int64_t unit = 0; unit < samples.samples_per_epoch(); ++unit) {
    const std::vector<double> numbers = samples.numbers(unit);
    for (int64_t place = 0; place < std::ssize(numbers); ++place) {
      truth.push_back(numbers[static_cast<size_t>(place)]);
      found.push_back(head.mean + head.deviation * *answers.at(unit, place));
      far += std::abs(truth.back() - found.back());
    }
  }
  const double error = std::sqrt(mean_squared_error(truth, found)),
               absolute = far / static_cast<double>(truth.size()), linear = pearson(truth, found),
               ranks = spearman(truth, found);
  return {fmt::format("root mean squared error {:.4g}, mean absolute error {:.4g}, Pearson {:.4f}, "
                      "Spearman {:.4f} ({} {})",
                      shown_number(error), shown_number(absolute), shown_number(linear),
                      shown_number(ranks), truth.size(), counted(samples)),
          {{"loss", answers.loss},
           {"rmse", error},
           {"absolute_error", absolute},
           {"pearson", linear},
           {"spearman", ranks}},
          std::isfinite(error) ? -error : std::numeric_limits<double>::lowest()};
}

}  // namespace

LabelAnswers graph_answers(const EvaluatedModel& model, const data::GraphSamples& samples,
                           int64_t outputs) {
  return label_answers(model, samples, samples.samples_per_epoch(), samples.places(), outputs);
}

Scores graph_scores(const LabelHead& head, const data::GraphSamples& samples,
                    const LabelAnswers& answers) {
  if (samples.of_pairs()) return of_links(samples, answers);
  return head.kind == LabelKind::regress ? of_numbers(head, samples, answers)
                                         : of_classes(head, samples, answers);
}

}  // namespace skein::train
