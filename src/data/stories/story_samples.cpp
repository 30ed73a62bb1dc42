#include "skein/data/stories/story_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/data/samples/draws.h"

namespace skein::data {
namespace {

std::vector<int64_t> sizes_of(const StoryBlend& blend) {
  std::vector<int64_t> made;
  for (const StoryRecords& part : blend.parts) made.push_back(part.count());
  return made;
}

PaddedShape shape_of(int64_t length) { return {.length = length, .segments = true}; }

// The first sentence that a model with so many memories has of a story.
int64_t first_sentence(const StoryRecord& story, int64_t memories) {
  return std::max<int64_t>(0, story.sentences() - memories);
}

// Of `count` sentences and the question after them: when each of them was, from 0 on.
std::vector<int32_t> moments(int64_t count, const StorySampleConfig& config, Draws draws) {
  std::vector<int32_t> made(count + 1);
  std::iota(made.begin(), made.end(), 0);
  const auto most = static_cast<int64_t>(std::ceil(config.empty * static_cast<double>(count)));
  const int64_t empty = std::min(draws.below(most + 1), config.memories - count);
  for (int64_t i = 0; i < empty; ++i)
    for (int64_t later = draws.below(count + 1); later <= count; ++later) ++made[later];
  return made;
}

}  // namespace

StorySamples::StorySamples(StoryBlend blend, const StorySampleConfig& config)
    : blend_(std::move(blend)),
      config_(config),
      order_(sizes_of(blend_), blend_.weights, config.seed, config.order) {
  for (const StoryRecords& part : blend_.parts)
    for (int64_t i = 0; i < part.count(); ++i) {
      const StoryRecord story = part.record(i);
      length_ = std::max(
          length_, story.starts.back() - story.starts[first_sentence(story, config.memories)]);
    }
}

StorySamples::Found StorySamples::record(int64_t index) const {
  const SampleIndex found = order_.at(index);
  const StoryRecords& part = blend_.parts[found.dataset];
  return {&part, part.record(found.sample)};
}

Batch StorySamples::empty_batch(int64_t count) const {
  return padded_batch(count, shape_of(length_));
}

void StorySamples::fill(const Batch& batch, int64_t row, int64_t index) const {
  const SampleIndex from = order_.at(index);
  const StoryRecord story = blend_.parts[from.dataset].record(from.sample);
  const int64_t first = first_sentence(story, config_.memories), count = story.sentences() - first;
  const uint64_t key = derive_key(
      config_.seed, fmt::format("empty memories {}, epoch {}", from.dataset, from.epoch));
  const std::vector<int32_t> when =
      moments(count, config_, Draws(key, static_cast<uint64_t>(from.sample)));
  int32_t* const segments = row_of<int32_t>(batch.segments, row);
  const int64_t skipped = story.starts[first], words = story.starts.back() - skipped;
  std::copy(story.words.begin() + skipped, story.words.end(), row_of<int32_t>(batch.tokens, row));
  for (int64_t i = 0; i <= count; ++i)
    std::fill(segments + story.starts[first + i] - skipped,
              segments + story.starts[first + i + 1] - skipped, when[i]);
  int32_t* const positions = row_of<int32_t>(batch.positions, row);
  std::iota(positions, positions + length_, 0);
  batch.lengths.data<int32_t>()[row] = narrow<int32_t>(words);
  *row_of<int32_t>(batch.places, row) = narrow<int32_t>(words - 1);
  *row_of<int32_t>(batch.targets, row) = story.answer;
  *row_of<float>(batch.weights, row) = 1;
}

}  // namespace skein::data
