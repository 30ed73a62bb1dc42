#include "skein/train/tasks/pair_data.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"
#include "skein/train/tasks/pair_notes.h"
#include "skein/train/vocabulary.h"

namespace skein::train {
namespace {

// Held-out rows are sorted by length in groups of so many, for less padding. It changes no loss of
// a row, and the order in which losses are added is always this one.
constexpr int64_t kSortedTogether = 256;

std::unique_ptr<const data::TwoSidedSamples> held_out_samples(
    const std::shared_ptr<const data::Records>& records, const PairReading& reading) {
  data::TwoSidedConfig sides = reading.sides;
  sides.pack = false;
  std::vector<data::PairRows> rows;
  rows.emplace_back(records, reading.form, sides);
  log::info("{}", told_counts(rows.front().counts(), sides, records->name()));
  data::TwoSidedOrder order = reading.order;
  order.group = kSortedTogether;
  order.shuffle = false;
  return std::make_unique<data::TwoSidedSamples>(std::move(rows), std::vector<double>{1},
                                                 reading.form, sides, order);
}

}  // namespace

data::PairsConfig with_columns(const data::PairsConfig& pairs, const LabelColumns& columns) {
  data::PairsConfig made = pairs;
  made.text = columns.text;
  made.label = columns.label;
  made.format = columns.format;
  made.header = columns.header;
  return made;
}

PairReading pair_reading(const ModelConfig& model, const data::PairsConfig& pairs,
                         const data::PairTokenizers& tokenizers, const data::TwoSidedConfig& sides,
                         const ParallelConfig& parallel) {
  const Architecture& architecture = *model.architecture;
  require(architecture.maps_source(model),
          "task.kind=seq2seq learns the target of each source, but a model of "
          "model.architecture={} reads no source; `skein pretrain --help` lists those that do",
          architecture.name());
  check_vocabulary(model, *tokenizers.target);
  check_sources(model, tokenizers.source->vocab_size(), "the tokenizer of sources");
  return {.pairs = pairs,
          .tokenizers = tokenizers,
          .form = data::pair_form(*tokenizers.source, *tokenizers.target, sides.start),
          .sides = data::settled(sides, architecture.source_context(model), model.context),
          .order = {.multiple = row_multiple(parallel),
                    .source_places = architecture.source_context(model),
                    .target_places = model.context}};
}

data::TwoSidedSamples training_pairs(const data::PairBlend& blend, const PairReading& reading,
                                     uint64_t seed, bool shuffle) {
  std::vector<data::PairRows> parts;
  for (const auto& records : blend.parts) {
    parts.emplace_back(records, reading.form, reading.sides);
    log::info("{}", told_counts(parts.back().counts(), reading.sides, records->name()));
  }
  data::TwoSidedOrder order = reading.order;
  order.seed = seed;
  order.shuffle = shuffle;
  return {std::move(parts), blend.weights, reading.form, reading.sides, order};
}

int64_t WantedTexts::references_each() const {
  const auto other = std::ranges::find_if(
      references, [&](const auto& of) { return of.size() != references.front().size(); });
  return references.empty() || other != references.end() ? 0 : std::ssize(references.front());
}

HeldOutPairs::HeldOutPairs(const std::vector<std::string>& entries, const PairReading& reading)
    : reading_(reading), blend_(open_pairs(entries, reading.pairs, reading.tokenizers, true)) {
  for (const auto& records : blend_.parts) samples_.push_back(held_out_samples(records, reading));
}

int64_t HeldOutPairs::count() const {
  int64_t sum = 0;
  for (const auto& records : blend_.parts) sum += records->count();
  return sum;
}

TokenScores HeldOutPairs::scores(const EvaluatedModel& model, int64_t vocabulary) const {
  TokenScores sum;
  for (const auto& samples : samples_)
    sum.add(token_scores(model, *samples, samples->samples_per_epoch(),
                         reading_.sides.target_length, vocabulary));
  return sum;
}

void HeldOutPairs::add_text(size_t part, int64_t pair, WantedTexts& into) const {
  const data::Records& records = *blend_.parts[part];
  const auto tokens = [&](const char* column) {
    return records.tokens(records.column(column), pair);
  };
  into.prompts.push_back(
      reading_.form.source.framed(tokens(data::kSourceColumn), reading_.sides.source_length));
  if (blend_.texts[part].empty()) {
    into.sources.push_back(reading_.tokenizers.source->decode(tokens(data::kSourceColumn)));
    into.references.push_back({reading_.tokenizers.target->decode(tokens(data::kTargetColumn))});
    return;
  }
  const data::TextPair& text = blend_.texts[part][pair];
  into.sources.push_back(reading_.pairs.prefix + text.source);
  std::vector<std::string>& references = into.references.emplace_back(text.references);
  references.insert(references.begin(), text.target);
}

WantedTexts HeldOutPairs::texts(int64_t asked) const {
  const int64_t all = count(), used = asked > 0 ? std::min(asked, all) : all;
  WantedTexts made;
  size_t part = 0;
  int64_t begin = 0;  // of the part
  for (int64_t i = 0; i < used; ++i) {
    const int64_t pair = i * all / used;
    for (; pair - begin >= blend_.parts[part]->count(); ++part)
      begin += blend_.parts[part]->count();
    add_text(part, pair - begin, made);
  }
  return made;
}

}  // namespace skein::train
