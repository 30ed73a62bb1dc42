#include "skein/data/samples/two_sided_samples.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::data {
namespace {

constexpr int64_t kUsualLength = 128;

std::vector<int64_t> sizes_of(const std::vector<PairRows>& parts) {
  std::vector<int64_t> sizes;
  for (const PairRows& part : parts) sizes.push_back(part.count());
  return sizes;
}

}  // namespace

void bind(Options& options, TwoSidedConfig& c) {
  options.add("task.source_length", c.source_length,
              "tokens of the longest source, with those around the text; 0: as many as the model "
              "has places, at most 128",
              "tokens");
  options.add("task.target_length", c.target_length,
              "tokens of the longest target, with those around the text; 0: the same of its places",
              "tokens");
  options.add_choice("task.too_long", c.longer,
                     {{"cut", LongPairs::cut}, {"drop", LongPairs::drop}},
                     "what becomes of a longer side: it loses its end, or the pair is left out");
  options.add("task.pack", c.pack, "several pairs a row, blind to each other");
  options.add("task.start", c.start,
              "token that the decoder is fed first; empty: the padding token, else the one that "
              "ends a target");
}

TwoSidedConfig settled(const TwoSidedConfig& config, int64_t source_places, int64_t target_places) {
  const auto length = [](const char* option, int64_t given, int64_t places, const char* side) {
    require(given >= 0 && given <= places,
            "{}={} must be from 1 to the {} places that the model has for a {}; give fewer, or a "
            "model with more",
            option, given, places, side);
    return given > 0 ? given : std::min(places, kUsualLength);
  };
  TwoSidedConfig made = config;
  made.source_length = length("task.source_length", config.source_length, source_places, "source");
  made.target_length = length("task.target_length", config.target_length, target_places, "target");
  return made;
}

std::string told_counts(const TwoSidedCounts& n, const TwoSidedConfig& config,
                        const std::string& what) {
  std::string text =
      fmt::format("{} pairs of {} in {} rows, {} tokens of sources, {} of targets",
                  n.pairs - n.dropped, what, n.rows, n.source_tokens, n.target_tokens);
  if (n.dropped > 0)
    text += fmt::format(
        "; {} were left out, longer than task.source_length={} or "
        "task.target_length={} (task.too_long=drop)",
        n.dropped, config.source_length, config.target_length);
  if (n.cut_sources > 0)
    text += fmt::format("; {} sources lost their end (task.source_length={})", n.cut_sources,
                        config.source_length);
  if (n.cut_targets > 0)
    text += fmt::format("; {} targets lost their end (task.target_length={})", n.cut_targets,
                        config.target_length);
  return text;
}

TwoSidedSamples::TwoSidedSamples(std::vector<PairRows> parts, std::vector<double> weights,
                                 const PairForm& form, const TwoSidedConfig& config,
                                 const TwoSidedOrder& order)
    : parts_(std::move(parts)),
      form_(form),
      config_(config),
      how_(order),
      order_(sizes_of(parts_), std::move(weights), order.seed, training_order(order.shuffle)) {
  SKEIN_CHECK(order.group >= 1 && order.multiple >= 1);
}

void TwoSidedSamples::sort_by(int64_t group) {
  SKEIN_CHECK(group >= 1);
  how_.group = group;
}

// The samples of the stream among which `index` is sorted.
std::pair<int64_t, int64_t> TwoSidedSamples::sorted_range(int64_t index) const {
  const int64_t group = index / how_.group * how_.group;
  const int64_t pass = index / samples_per_epoch() * samples_per_epoch();
  return {std::max(group, pass), std::min(group + how_.group, pass + samples_per_epoch())};
}

std::vector<SampleIndex> TwoSidedSamples::sorted(int64_t begin, int64_t end) const {
  struct Keyed {
    std::pair<int64_t, int64_t> lengths;
    SampleIndex sample;
  };
  std::vector<Keyed> keyed;
  for (int64_t index = begin; index < end; ++index) {
    const SampleIndex sample = order_.at(index);
    keyed.push_back({parts_[sample.dataset].lengths(sample.sample), sample});
  }
  std::ranges::stable_sort(keyed, {}, &Keyed::lengths);
  std::vector<SampleIndex> samples;
  for (const Keyed& one : keyed) samples.push_back(one.sample);
  return samples;
}

TwoSidedShape TwoSidedSamples::shape_of(const std::vector<TokenPairs>& rows) const {
  int64_t source = 1, target = 1;
  for (const TokenPairs& row : rows) {
    int64_t sources = 0, targets = 0;
    for (const TokenPair& pair : row) {
      sources += std::ssize(pair.source);
      targets += std::ssize(pair.labels);
    }
    source = std::max(source, sources);
    target = std::max(target, targets);
  }
  const auto padded = [&](int64_t length, int64_t most, int64_t places) {
    const int64_t longest = rounded_up(most, how_.multiple);
    return rounded_length(length, how_.multiple, places > 0 ? std::min(longest, places) : longest);
  };
  return {padded(source, config_.source_length, how_.source_places),
          padded(target, config_.target_length, how_.target_places), form_.start,
          std::max(0, form_.source_pad), std::max(0, form_.target_pad)};
}

Batch TwoSidedSamples::make_batch(const SampleRange& range, int /*threads*/) const {
  std::vector<TokenPairs> rows;
  for (int64_t i = 0; i < range.count;) {
    const auto [begin, end] = sorted_range(range[i]);
    const std::vector<SampleIndex> samples = sorted(begin, end);
    for (; i < range.count && begin <= range[i] && range[i] < end; ++i) {
      const SampleIndex& sample = samples[range[i] - begin];
      rows.push_back(parts_[sample.dataset].row(sample.sample));
    }
  }
  return two_sided_batch(rows, shape_of(rows), range);
}

}  // namespace skein::data
