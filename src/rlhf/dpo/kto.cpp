#include "skein/rlhf/dpo/kto.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/data/samples/order.h"
#include "skein/train/judge.h"

namespace skein::rlhf::dpo {
namespace {

class ShiftedSamples : public data::SampleSource {
 public:
  ShiftedSamples(const data::SampleSource& all, int64_t begin) : all_(all), begin_(begin) {}
  int64_t samples_per_epoch() const override { return all_.samples_per_epoch(); }

 private:
  data::Batch make_batch(const data::SampleRange& range, int threads) const override {
    return all_.batch(range.shifted(begin_), threads);
  }

  const data::SampleSource& all_;
  int64_t begin_;
};

// The answers of the samples, one each.
std::vector<const rewards::AnswerSequence*> answers_of(const AnswerPairs& judged) {
  std::vector<const rewards::AnswerSequence*> all;
  for (const AnswerPairs::Pair& pair : judged.pairs) {
    SKEIN_CHECK((pair.chosen == AnswerPairs::none) != (pair.rejected == AnswerPairs::none));
    all.push_back(&judged.answers[std::min(pair.chosen, pair.rejected)]);
  }
  return all;
}

bool same_prompt(const rewards::AnswerSequence& a, const rewards::AnswerSequence& b) {
  return std::equal(a.tokens.begin(), a.tokens.begin() + a.begin, b.tokens.begin(),
                    b.tokens.begin() + b.begin);
}

// For each answer of a circle the next one with another prompt.
std::vector<size_t> next_others(const std::vector<const rewards::AnswerSequence*>& circle) {
  const size_t count = circle.size();
  std::vector<size_t> next(count, count);
  for (size_t i = 2 * count; i-- > 0;) {
    const size_t here = i % count, after = (i + 1) % count;
    next[here] = same_prompt(*circle[here], *circle[after]) ? next[after] : after;
  }
  return next;
}

rewards::AnswerSequence joined(const rewards::AnswerSequence& asked,
                               const rewards::AnswerSequence& answer, int64_t length) {
  rewards::AnswerSequence made{{asked.tokens.begin(), asked.tokens.begin() + asked.begin},
                               asked.begin};
  made.tokens.insert(made.tokens.end(), answer.tokens.begin() + answer.begin, answer.tokens.end());
  made.cut = asked.cut;
  made.drop(std::max<int64_t>(0, made.size() - length));
  return made;
}

}  // namespace

AnswerPairs taken_apart(AnswerPairs judged) {
  std::vector<AnswerPairs::Pair> alone;
  for (const AnswerPairs::Pair& pair : judged.pairs) {
    if (pair.chosen != AnswerPairs::none) alone.push_back({pair.chosen, AnswerPairs::none});
    if (pair.rejected != AnswerPairs::none) alone.push_back({AnswerPairs::none, pair.rejected});
  }
  judged.pairs = std::move(alone);
  return judged;
}

AnswerPairs mismatched(const AnswerPairs& judged, int64_t length, uint64_t seed) {
  const std::vector<const rewards::AnswerSequence*> all = answers_of(judged);
  const auto count = std::ssize(all);
  std::vector<size_t> order;
  std::vector<const rewards::AnswerSequence*> circle;
  for (int64_t i = 0; i < count; ++i) {
    order.push_back(data::permuted(seed, 0, count, i));
    circle.push_back(all[order.back()]);
  }
  const std::vector<size_t> next = next_others(circle);
  AnswerPairs made;
  made.answers.resize(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    require(
        next[i] < all.size(),
        "dpo.loss=kto: all {} answers are to the same prompt, but its reference point is estimated "
        "from answers to other prompts; give answers to several prompts, or take another dpo.loss",
        count);
    made.answers[order[i]] = joined(*circle[i], *circle[next[i]], length);
  }
  for (size_t i = 0; i < all.size(); ++i) made.pairs.push_back({i, AnswerPairs::none});
  return made;
}

KtoPoint kto_point(const train::EvaluatedModel& model, const DpoSamples& judged,
                   const DpoSamples& others, int64_t first, int64_t count) {
  const int64_t places = others.places();
  const Tensor logps = all_answers(model, ShiftedSamples(others, first), count, places, 1);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += others.log_ratio(first + i, logps.data<float>() + i * places);
  const double samples = count;
  return {std::max(0.0, sum / samples), judged.chosen_among(first, count) / samples};
}

}  // namespace skein::rlhf::dpo
