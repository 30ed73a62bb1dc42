#include "skein/nn/story_links.h"

#include <algorithm>
#include <vector>

namespace skein {
namespace {

// Words by the bag that they are in.
struct Bags {
  std::vector<std::vector<int64_t>> words{};

  ops::Links links(int64_t columns) const {
    std::vector<int64_t> starts{0}, to;
    for (const auto& bag : words) {
      to.insert(to.end(), bag.begin(), bag.end());
      starts.push_back(std::ssize(to));
    }
    return kernels::make_links(starts, to, columns);
  }
  // [E,C]
  Tensor order(int64_t width, DType dtype) const {
    std::vector<double> made;
    for (const auto& bag : words)
      for (size_t j = 1; j <= bag.size(); ++j) {
        const double place = static_cast<double>(j) / static_cast<double>(bag.size());
        for (int64_t k = 1; k <= width; ++k)
          made.push_back((1 - place) -
                         static_cast<double>(k) / static_cast<double>(width) * (1 - 2 * place));
      }
    return Tensor::from(made, {std::ssize(made) / width, width}).to(dtype);
  }
};

// The words of a batch by sentence and by question.
struct StoryBags {
  Bags slots, questions;
  int64_t memories = 1;  // slots of a sample

  StoryBags(const data::Batch& batch, int64_t most) {
    const Tensor segments = batch.segments.to(Device{});
    const int64_t samples = batch.size(), length = batch.length();
    std::vector<int32_t> asked(samples);
    for (int64_t b = 0; b < samples; ++b) {
      const auto row = segments.rows(b, b + 1).span<int32_t>();
      asked[b] = *std::ranges::max_element(row);
      for (const int32_t segment : row)
        if (segment >= 0 && asked[b] - segment <= most)
          memories = std::max<int64_t>(memories, asked[b] - segment);
    }
    slots.words.resize(samples * memories);
    questions.words.resize(samples);
    for (int64_t at = 0; at < samples * length; ++at) {
      const int64_t sample = at / length, segment = segments.data<int32_t>()[at];
      const int64_t age = asked[sample] - segment - 1;
      if (segment < 0 || age >= memories) continue;
      (age < 0 ? questions.words[sample] : slots.words[sample * memories + age]).push_back(at);
    }
  }

  // From each question to its slots that have words.
  ops::Links remembered() const {
    std::vector<int64_t> starts{0}, to;
    for (int64_t slot = 0; slot < std::ssize(slots.words); ++slot) {
      if (!slots.words[slot].empty()) to.push_back(slot);
      if ((slot + 1) % memories == 0) starts.push_back(std::ssize(to));
    }
    return kernels::make_links(starts, to, std::ssize(slots.words));
  }
};

}  // namespace

StoryLinks story_links(const data::Batch& batch, int64_t memories, int64_t width, DType dtype) {
  const StoryBags bags(batch, memories);
  const Device device = batch.tokens.device();
  const int64_t words = batch.size() * batch.length();
  const Tensor ages = Tensor::empty({batch.size(), bags.memories}, DType::i32);
  for (int64_t i = 0; i < ages.size(); ++i)
    ages.data<int32_t>()[i] = static_cast<int32_t>(i % bags.memories);
  const auto order = [&](const Bags& of) {
    return width > 0 ? of.order(width, dtype).to(device) : Tensor();
  };
  return {bags.slots.links(words).to(device),
          bags.questions.links(words).to(device),
          order(bags.slots),
          order(bags.questions),
          bags.remembered().to(device),
          ages.to(device)};
}

}  // namespace skein
