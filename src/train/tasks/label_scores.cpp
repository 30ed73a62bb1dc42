#include "skein/train/tasks/label_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/values.h"
#include "skein/train/judge.h"
#include "skein/train/scores.h"

namespace skein::train {
namespace {

Scores score_classes(const LabelHead& head, const LabelData& data, const LabelAnswers& answers) {
  std::vector<int32_t> found;
  std::vector<int64_t> support(head.labels.size());
  for (int64_t i = 0; i < data.size(); ++i) {
    found.push_back(answers.best(i, 0));
    ++support[data.classes[i]];
  }
  const ClassScores scores = class_scores(data.classes, found, head.outputs());
  const double commonest = ratio(*std::ranges::max_element(support), data.size());
  return {fmt::format("loss {:.4f}, accuracy {:.4f}, macro F1 {:.4f}, Matthews {:.4f} ({} "
                      "examples, {:.4f} of them of the commonest label)",
                      shown_number(answers.loss), scores.accuracy(), scores.macro_f1(),
                      scores.matthews(), data.size(), commonest),
          {{"loss", answers.loss},
           {"accuracy", scores.accuracy()},
           {"macro_f1", scores.macro_f1()},
           {"weighted_f1", scores.weighted_f1()},
           {"matthews", scores.matthews()},
           {"commonest_label", commonest}}};
}

Scores score_values(const LabelHead& head, const LabelData& data, const LabelAnswers& answers) {
  std::vector<double> found;
  for (int64_t i = 0; i < data.size(); ++i) found.push_back(value_of(head, answers, i));
  const double mse = mean_squared_error(data.values, found), linear = pearson(data.values, found),
               ranks = spearman(data.values, found);
  const double mean = std::accumulate(data.values.begin(), data.values.end(), 0.0) / data.size();
  const double constant =
      mean_squared_error(data.values, std::vector<double>(data.values.size(), mean));
  return {fmt::format("mean squared error {:.4g} (of the mean {:.4g}), Pearson {:.4f}, Spearman "
                      "{:.4f} ({} examples)",
                      shown_number(mse), constant, shown_number(linear), shown_number(ranks),
                      data.size()),
          {{"loss", answers.loss},
           {"mse", mse},
           {"mse_of_mean", constant},
           {"pearson", linear},
           {"spearman", ranks}}};
}

Scores score_tags(const LabelHead& head, const LabelData& data, const LabelAnswers& answers) {
  TagSequences found;
  int64_t words = 0, right = 0;
  for (const auto& ids : tags_of(data, answers)) {
    const auto& truth = data.tags[found.size()];
    auto& tags = found.emplace_back();
    for (int32_t id : ids) tags.push_back(head.labels[id]);
    words += std::ssize(tags);
    for (size_t word = 0; word < tags.size(); ++word) right += tags[word] == truth[word];
  }
  const EntityScores scores = entity_scores(data.tags, found);
  const double accuracy = ratio(right, words);
  return {fmt::format("loss {:.4f}, F1 {:.4f}, precision {:.4f}, recall {:.4f} of {} entities, "
                      "{:.4f} of {} words right ({} sentences)",
                      shown_number(answers.loss), scores.all.f1(), scores.all.precision(),
                      scores.all.recall(), scores.all.support, accuracy, words, found.size()),
          {{"loss", answers.loss},
           {"f1", scores.all.f1()},
           {"precision", scores.all.precision()},
           {"recall", scores.all.recall()},
           {"macro_f1", scores.macro_f1()},
           {"word_accuracy", accuracy}}};
}

}  // namespace

int32_t LabelAnswers::best(int64_t sample, int64_t place) const {
  const float* from = at(sample, place);
  return narrow<int32_t>(std::max_element(from, from + scores.dim(2)) - from);
}

LabelAnswers label_answers(const EvaluatedModel& model, const data::LabelSamples& samples,
                           int64_t outputs) {
  return label_answers(model, samples, samples.samples_per_epoch(), samples.shape().places,
                       outputs);
}

LabelAnswers label_answers(const EvaluatedModel& model, const data::SampleSource& samples,
                           int64_t count, int64_t places, int64_t outputs) {
  LabelAnswers made{Tensor::zeros({count, places, outputs}, DType::f32)};
  const Tensor weight = Tensor::zeros({1}, DType::f64);
  const auto sums = judge(model, samples, count, 1, true,
                          [&](const data::Batch& batch, const std::vector<Tensor>& answers) {
                            put_answers(answers[0], made.scores,
                                        batch.sample_ids.data<int64_t>()[0], batch.size());
                            for (float counts : batch.weights.span<float>())
                              *weight.data<double>() += counts;
                          });
  for (const Tensor& shared : {made.scores, weight}) model.mesh.share_results(shared);
  made.loss =
      std::accumulate(sums[0].begin(), sums[0].end(), 0.0) / std::max(1.0, *weight.data<double>());
  return made;
}

std::vector<double> shares(const LabelAnswers& answers, int64_t sample, int64_t place) {
  const float* from = answers.at(sample, place);
  const double most = *std::max_element(from, from + answers.scores.dim(2));
  std::vector<double> made;
  double sum = 0;
  for (int64_t i = 0; i < answers.scores.dim(2); ++i)
    sum += made.emplace_back(std::exp(from[i] - most));
  for (double& share : made) share /= sum;
  return made;
}

double value_of(const LabelHead& head, const LabelAnswers& answers, int64_t sample) {
  return head.mean + head.deviation * *answers.at(sample, 0);
}

std::vector<std::vector<int32_t>> tags_of(const LabelData& data, const LabelAnswers& answers) {
  std::vector<std::vector<int32_t>> tags;
  for (int64_t words : data.words) tags.emplace_back(words);
  for (int64_t i = 0; i < data.size(); ++i) {
    const auto& [sentence, first] = data.windows[i];
    const auto places = std::ssize(data.samples[i].form.places);
    for (int64_t place = 0; place < places; ++place)
      tags[sentence][first + place] = answers.best(i, place);
  }
  return tags;
}

Scores score(const LabelHead& head, const LabelData& data, const LabelAnswers& answers) {
  Scores made = head.kind == LabelKind::classify  ? score_classes(head, data, answers)
                : head.kind == LabelKind::regress ? score_values(head, data, answers)
                                                  : score_tags(head, data, answers);
  const double metric = value_named(made.values, name_of(head.metric));
  made.quality = head.metric == LabelMetric::mse ? -metric : metric;
  if (!std::isfinite(made.quality)) made.quality = std::numeric_limits<double>::lowest();
  return made;
}

}  // namespace skein::train
