#include "skein/rlhf/dpo/samples.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/formats/crc32c.h"

namespace skein::rlhf::dpo {
namespace {

// Of log-probabilities that are kept.
constexpr int64_t kMostNumbers = int64_t{1} << 30;

// The last token is only predicted.
int64_t fed(const rewards::AnswerSequence* answer) { return answer ? answer->size() - 1 : 0; }
int64_t tokens_of(const rewards::AnswerSequence* answer) {
  return answer ? answer->answer_tokens() : 0;
}

}  // namespace

DpoSamples::DpoSamples(AnswerPairs pairs, int64_t multiple, int32_t pad, uint64_t seed,
                       bool shuffle)
    : pairs_(std::move(pairs)),
      pad_(pad),
      order_({std::ssize(pairs_.pairs)}, {1}, seed, data::training_order(shuffle)) {
  for (const rewards::AnswerSequence& answer : pairs_.answers)
    SKEIN_CHECK(answer.begin > 0 && answer.answer_tokens() > 0);
  const int64_t count = samples_per_epoch();
  for (int64_t pair = 0; pair < count; ++pair) {
    length_ = std::max(length_, fed(chosen(pair)) + fed(rejected(pair)));
    places_ = std::max(places_, tokens_of(chosen(pair)) + tokens_of(rejected(pair)));
  }
  length_ = rounded_up(length_, multiple);
  require(
      count <= kMostNumbers / places_,
      "{} pairs with up to {} tokens of answers each are too many to remember what the reference "
      "holds of them ({} numbers at most); give fewer or shorter ones, or lists of fewer answers",
      count, places_, kMostNumbers);
  reference_.resize(count * places_);
}

void DpoSamples::fill_answer(const data::Batch& batch, int64_t row,
                             const rewards::AnswerSequence& answer, int64_t side,
                             RowFill& filled) const {
  const int64_t from = row * length_ + filled.tokens, count = fed(&answer);
  std::copy_n(answer.tokens.begin(), count, batch.tokens.data<int32_t>() + from);
  std::iota(batch.positions.data<int32_t>() + from, batch.positions.data<int32_t>() + from + count,
            0);
  std::fill_n(batch.segments.data<int32_t>() + from, count, side);
  for (int64_t token = answer.begin; token < answer.size(); ++token, ++filled.places) {
    const int64_t to = row * places_ + filled.places;
    batch.places.data<int32_t>()[to] = narrow<int32_t>(filled.tokens + token - 1);
    batch.targets.data<int32_t>()[to] = answer.tokens[token];
    batch.weights.data<float>()[to] = 1;
    batch.known.data<float>()[to * known_pair::columns + known_pair::side] = side;
  }
  filled.tokens += count;
}

void DpoSamples::fill(const data::Batch& batch, int64_t row, int64_t index) const {
  const int64_t pair = pair_of(index);
  RowFill filled;
  if (const rewards::AnswerSequence* one = chosen(pair)) fill_answer(batch, row, *one, 0, filled);
  if (const rewards::AnswerSequence* one = rejected(pair)) fill_answer(batch, row, *one, 1, filled);
  batch.lengths.data<int32_t>()[row] = narrow<int32_t>(filled.tokens);
  for (int64_t place = 0; place < filled.places; ++place)
    batch.known
        .data<float>()[(row * places_ + place) * known_pair::columns + known_pair::ref_logp] =
        reference_of(pair)[place];
}

data::Batch DpoSamples::empty_batch(int64_t count) const {
  data::Batch made = data::padded_batch(
      count, {.length = length_, .places = places_, .pad = pad_, .segments = true});
  made.known = Tensor::zeros({count, places_, known_pair::columns}, DType::f32);
  return made;
}

void DpoSamples::remember(const Tensor& logps) {
  SKEIN_CHECK_EQ(logps.dim(0), samples_per_epoch());
  SKEIN_CHECK_EQ(logps.dim(1), places_);
  const int64_t numbers = logps.dim(2);
  for (int64_t sample = 0; sample < samples_per_epoch(); ++sample)
    for (int64_t place = 0; place < places_; ++place)
      reference_[pair_of(sample) * places_ + place] =
          logps.data<float>()[(sample * places_ + place) * numbers];
}

PairLogp DpoSamples::reference(int64_t pair) const {
  const int64_t of_chosen = tokens_of(chosen(pair)),
                of_both = of_chosen + tokens_of(rejected(pair));
  const float* logps = reference_of(pair);
  return {0, 0, std::accumulate(logps, logps + of_chosen, 0.0),
          std::accumulate(logps + of_chosen, logps + of_both, 0.0)};
}

double DpoSamples::log_ratio(int64_t sample, const float* logps) const {
  const int64_t pair = pair_of(sample), count = tokens_of(chosen(pair)) + tokens_of(rejected(pair));
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += double{logps[i]} - reference_of(pair)[i];
  return sum;
}

int64_t DpoSamples::chosen_among(int64_t first, int64_t count) const {
  int64_t found = 0;
  for (int64_t sample = first; sample < first + count; ++sample)
    found += chosen(pair_of(sample)) != nullptr;
  return found;
}

double DpoSamples::mean_reference() const {
  double sum = 0, tokens = 0;
  for (int64_t pair = 0; pair < samples_per_epoch(); ++pair) {
    const PairLogp found = reference(pair);
    sum += found.ref_chosen + found.ref_rejected;
    tokens += tokens_of(chosen(pair)) + tokens_of(rejected(pair));
  }
  return sum / tokens;
}

uint32_t DpoSamples::checksum() const {
  uint32_t sum = 0;
  for (int64_t pair = 0; pair < samples_per_epoch(); ++pair)
    for (const rewards::AnswerSequence* answer : {chosen(pair), rejected(pair)}) {
      const int64_t begin = answer ? answer->begin : 0;
      sum = formats::crc32c_of(std::span(&begin, 1), sum);
      if (answer) sum = formats::crc32c_of(answer->tokens, sum);
    }
  return sum;
}

}  // namespace skein::rlhf::dpo
