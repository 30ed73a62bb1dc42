#include "skein/rlhf/policy/episodes.h"

#include <algorithm>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/rlhf/policy/objective.h"

namespace skein::rlhf::policy {
namespace {

float at(const std::vector<double>& numbers, size_t token) {
  return token < numbers.size() ? numbers[token] : 0;
}

}  // namespace

EpisodeSamples::EpisodeSamples(const std::vector<Episode>& episodes, int64_t length, int64_t places)
    : episodes_(episodes), length_(length), places_(places), order_(episodes.size()) {
  std::iota(order_.begin(), order_.end(), 0);
}

void EpisodeSamples::set_aggregation(Aggregation aggregation, int64_t minibatch, int64_t constant) {
  aggregation_ = aggregation;
  minibatch_ = minibatch;
  constant_ = constant;
}

// The step divides by the tokens of the minibatch, so the mean over tokens is 1 here.
double EpisodeSamples::factor(int64_t sample) const {
  const Episode& own = episode(sample);
  if (aggregation_ == Aggregation::token_mean) return 1;
  if (!own.path.counted) return 0;
  double responses = 0, tokens = 0;
  const int64_t first = sample / minibatch_ * minibatch_;
  for (int64_t i = first; i < std::min(first + minibatch_, samples_per_epoch()); ++i) {
    const Episode& one = episode(i);
    responses += one.path.counted;
    tokens += one.path.counted ? one.tokens.size() : 0;
  }
  const double length = aggregation_ == Aggregation::constant ? constant_ : own.tokens.size();
  return 1 / (responses * length) * tokens;
}

void EpisodeSamples::fill(const data::Batch& batch, int64_t row, int64_t sample) const {
  const Episode& episode = this->episode(sample);
  const size_t asked = episode.prompt.tokens.size(), answered = episode.tokens.size();
  SKEIN_CHECK(std::cmp_less_equal(asked + answered - 1, length_) &&
              std::cmp_less_equal(answered, places_));
  int32_t* tokens = data::row_of<int32_t>(batch.tokens, row);
  std::copy(episode.prompt.tokens.begin(), episode.prompt.tokens.end(), tokens);
  std::copy(episode.tokens.begin(), episode.tokens.end() - 1, tokens + asked);
  int32_t* positions = data::row_of<int32_t>(batch.positions, row);
  std::iota(positions, positions + length_, 0);
  batch.lengths.data<int32_t>()[row] = narrow<int32_t>(asked + answered - 1);
  const float share = factor(sample);
  const Trajectory& path = episode.path;
  for (size_t i = 0; i < answered; ++i) {
    const int64_t place = row * places_ + i;
    batch.places.data<int32_t>()[place] = narrow<int32_t>(asked + i - 1);
    batch.targets.data<int32_t>()[place] = episode.tokens[i];
    batch.weights.data<float>()[place] = path.counted ? 1 : 0;
    float* known = batch.known.data<float>() + place * known::columns;
    known[known::old_logp] = at(path.logp, i);
    known[known::ref_logp] = at(path.ref_logp, i);
    known[known::advantage] = at(path.advantages, i);
    known[known::factor] = share;
    known[known::return_to_go] = at(path.returns, i);
    known[known::old_value] = at(path.values, i);
  }
}

data::Batch EpisodeSamples::empty_batch(int64_t count) const {
  data::Batch made = data::padded_batch(count, {.length = length_, .places = places_});
  made.known = Tensor::zeros({count, places_, known::columns}, DType::f32);
  return made;
}

int64_t longest_row(const std::vector<Episode>& episodes, int64_t context, int64_t multiple) {
  int64_t longest = 1;
  for (const Episode& episode : episodes)
    longest = std::max(longest, std::ssize(episode.prompt.tokens) + std::ssize(episode.tokens) - 1);
  return std::min(rounded_up(longest, multiple), context);
}

int64_t longest_answer(const std::vector<Episode>& episodes) {
  size_t longest = 1;
  for (const Episode& episode : episodes) longest = std::max(longest, episode.tokens.size());
  return longest;
}

}  // namespace skein::rlhf::policy
