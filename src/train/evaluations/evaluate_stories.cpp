#include "skein/train/evaluations/evaluate_stories.h"

#include <algorithm>
#include <map>

#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/train/evaluations/story_model.h"
#include "skein/train/tasks/story_task.h"

namespace skein::train {
namespace {

// Where hops look.
struct Looks {
  int64_t asked = 0, supported = 0, right = 0, any = 0;
  std::vector<int64_t> hits;  // of each hop

  void add(const StoryAnswer& answer) {
    ++asked;
    right += answer.said == answer.truth && answer.truth != data::kUnknownWord;
    if (answer.support.empty()) return;
    ++supported;
    hits.resize(answer.weights.size());
    bool some = false;
    for (size_t hop = 0; hop < hits.size(); ++hop) {
      const bool hit = std::ranges::find(answer.support, answer.top(hop)) != answer.support.end();
      hits[hop] += hit;
      some = some || hit;
    }
    any += some;
  }
  double share(int64_t count) const { return ratio(count, std::max<int64_t>(1, supported)); }
  std::string text() const {
    std::string made = fmt::format("error {:6.2f}%", 100 * (1 - ratio(right, asked)));
    if (supported == 0) return made;
    made += ", on support by hop";
    for (const int64_t hit : hits) made += fmt::format(" {:.3f}", share(hit));
    return made + fmt::format(", any {:.3f}", share(any));
  }
};

}  // namespace

NamedValues evaluate_stories(const std::vector<std::string>& stores, const TrainedModel& source,
                             const ParallelConfig& parallel, int64_t batch, Group& world) {
  StoryModel model(source, parallel, DType::f32, batch, world);
  const data::StorySamples samples = model.samples(stores);
  const LabelAnswers answers = model.answers(samples);
  std::map<std::string, Looks> tasks;
  Looks all;
  for (int64_t i = 0; i < samples.samples_per_epoch(); ++i) {
    const StoryAnswer answer = model.answer(samples, answers, i);
    tasks[answer.task].add(answer);
    all.add(answer);
  }
  for (const auto& [name, looks] : tasks) log::info("{:40} {}", name, looks.text());
  Scores scores = story_scores(samples, answers);
  log::info("{}: {}; {}", source.info.path, scores.text, all.text());
  for (size_t hop = 0; hop < all.hits.size(); ++hop)
    scores.values.emplace_back(fmt::format("hop_{}_on_support", hop + 1), all.share(all.hits[hop]));
  if (all.supported > 0) scores.values.emplace_back("any_hop_on_support", all.share(all.any));
  scores.values.emplace_back("samples", samples.samples_per_epoch());
  return scores.values;
}

}  // namespace skein::train
