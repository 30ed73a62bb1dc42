#include "skein/train/tasks/image_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "skein/core/numbers.h"
#include "skein/core/values.h"
#include "skein/data/images/picture_sheet.h"
#include "skein/data/images/rebuilt_pictures.h"
#include "skein/train/judge.h"
#include "skein/train/scores.h"

namespace skein::train {
namespace {

constexpr int64_t kFew = 5;
constexpr int64_t kShown = 10;  // pictures of a sheet

// Whether the truth is among the `most` likeliest; of equal scores the lower id is likelier.
bool among(const LabelAnswers& answers, int64_t sample, int32_t truth, int64_t most) {
  const float* scores = answers.at(sample, 0);
  if (!std::isfinite(scores[truth])) return false;
  int64_t before = 0;
  for (int64_t id = 0; id < answers.scores.dim(2); ++id)
    before += scores[id] > scores[truth] || (scores[id] == scores[truth] && id < truth);
  return before < most;
}

std::vector<int32_t> truths(const data::ImageSamples& samples) {
  std::vector<int32_t> made;
  for (int64_t i = 0; i < samples.samples_per_epoch(); ++i) made.push_back(samples.label(i));
  return made;
}

}  // namespace

LabelAnswers image_answers(const EvaluatedModel& model, const data::ImageSamples& samples,
                           int64_t outputs) {
  return label_answers(model, samples, samples.samples_per_epoch(), 1, outputs);
}

std::vector<std::vector<int64_t>> confusions(const data::ImageSamples& samples,
                                             const LabelAnswers& answers, int64_t classes) {
  std::vector<std::vector<int64_t>> made(classes, std::vector<int64_t>(classes));
  const std::vector<int32_t> truth = truths(samples);
  for (int64_t i = 0; i < std::ssize(truth); ++i) ++made[truth[i]][answers.best(i, 0)];
  return made;
}

Scores image_scores(const LabelHead& head, const data::ImageSamples& samples,
                    const LabelAnswers& answers) {
  const std::vector<int32_t> truth = truths(samples);
  std::vector<int32_t> found;
  std::vector<double> confidences;
  std::vector<bool> right;
  int64_t few = 0;
  for (int64_t i = 0; i < std::ssize(truth); ++i) {
    found.push_back(answers.best(i, 0));
    confidences.push_back(shares(answers, i, 0)[found.back()]);
    right.push_back(found.back() == truth[i]);
    few += among(answers, i, truth[i], kFew);
  }
  const ClassScores scores = class_scores(truth, found, head.outputs());
  const double of_few = ratio(few, std::ssize(truth)),
               calibration = calibration_error(confidences, right);
  Scores made{fmt::format("loss {:.4f}, accuracy {:.4f}, of five {:.4f}, macro F1 {:.4f}, "
                          "calibration error {:.4f} ({} pictures)",
                          shown_number(answers.loss), scores.accuracy(), of_few, scores.macro_f1(),
                          shown_number(calibration), truth.size()),
              {{"loss", answers.loss},
               {"accuracy", scores.accuracy()},
               {"accuracy_of_five", of_few},
               {"macro_f1", scores.macro_f1()},
               {"matthews", scores.matthews()},
               {"calibration_error", calibration}}};
  made.quality = value_named(made.values, name_of(head.metric));
  if (!std::isfinite(made.quality)) made.quality = std::numeric_limits<double>::lowest();
  return made;
}

Scores hidden_patch_scores(const EvaluatedModel& model, const data::ImageSamples& samples) {
  const int64_t count = samples.samples_per_epoch(), hidden = samples.form().hidden;
  const auto sums = judge(model, samples, count, 1, false, [](const auto&, const auto&) {});
  const double loss = std::accumulate(sums[0].begin(), sums[0].end(), 0.0) /
                      (static_cast<double>(count) * static_cast<double>(hidden));
  return {fmt::format("loss {:.4f} of {} hidden patches in each of {} pictures", shown_number(loss),
                      hidden, count),
          {{"loss", loss}},
          std::isfinite(loss) ? -loss : std::numeric_limits<double>::lowest()};
}

std::string rebuilt_sheet(const EvaluatedModel& model, const data::ImageSamples& samples) {
  const data::PictureForm& form = samples.form();
  const int64_t count = std::min(kShown, samples.samples_per_epoch()),
                numbers = form.hidden * form.patch_numbers();
  const Tensor said = all_answers(model, samples, count, form.hidden, form.patch_numbers()),
               targets = samples.batch(0, count).targets;
  std::vector<std::vector<data::Image>> rows;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int32_t> hidden(form.hidden);
    std::ranges::transform(targets.rows(i, i + 1).span<int32_t>(), hidden.begin(),
                           [&](int32_t place) { return place - (form.class_token ? 1 : 0); });
    rows.push_back(rebuilt_row(samples.picture(i), hidden,
                               {said.data<float>() + i * numbers, static_cast<size_t>(numbers)},
                               form));
  }
  return encode_png(sheet_of(rows, data::usual_zoom(form.height)));
}

}  // namespace skein::train
