#include "skein/train/attention/maps.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tuple>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/data/samples/label_form.h"
#include "skein/data/samples/two_sided.h"
#include "skein/kernels/attention_weights.h"
#include "skein/models/architecture.h"
#include "skein/nn/attention_watcher.h"

namespace skein::train {
namespace {

using Ids = std::vector<int32_t>;

std::vector<std::string> spelled(const text::Tokenizer& tokenizer, const Ids& ids) {
  std::vector<std::string> made;
  for (const int32_t id : ids) {
    const std::string_view bytes = tokenizer.bytes_of(id);
    made.push_back(visible(bytes.empty() ? tokenizer.decode({id}, false) : bytes, ""));
  }
  return made;
}

void check_length(const Ids& ids, int64_t most, const char* what) {
  require(std::ssize(ids) <= most,
          "a {} has {} tokens, but the model sees at most {} of one; shorten it", what, ids.size(),
          most);
}

void check_known(const Ids& ids, int64_t known, const char* what) {
  for (const int32_t id : ids)
    require(id < known, "a {} holds token {}, but the model knows {} ids of one", what, id, known);
}

// Of each token of a target whether it stands in the source as it is spelled, special ones aside.
std::vector<bool> copied_tokens(const AttendedText& text, const Ids& labels,
                                const text::Tokenizer& targets) {
  const auto special = targets.special_tokens();
  std::vector<bool> made;
  for (size_t at = 0; at < labels.size(); ++at)
    made.push_back(std::ranges::count(text.source, text.next[at]) > 0 &&
                   std::ranges::none_of(
                       special, [&](const auto& token) { return token.second == labels[at]; }));
  return made;
}

Tensor row_of_ids(const Ids& ids) { return Tensor::from(ids, {1, std::ssize(ids)}); }

Ids ids_of(const Tensor& row) {
  const auto ids = row.span<int32_t>();
  return {ids.begin(), ids.end()};
}

}  // namespace

AttendedText attended_text(const TrainedModel& model, const std::string& text) {
  const ModelConfig& c = model.model;
  const text::Tokenizer& tokenizer = *model.state.tokenizer;
  const bool frames = c.architecture->sees_ahead();
  Ids ids = frames ? data::LabelForm(tokenizer, {true, c.context, "", false}).text(text).tokens
                   : tokenizer.encode_specials(text);
  if (!frames) begin_with(text_beginning(model), ids);
  require(!ids.empty(), "a text to attend to is empty; give one with at least one token");
  check_length(ids, c.context, "text");
  check_known(ids, c.vocab_size, "text");
  AttendedText made;
  data::Batch& batch = made.batch;
  batch.tokens = row_of_ids(ids);
  Ids places(ids.size());
  std::iota(places.begin(), places.end(), 0);
  batch.positions = row_of_ids(places);
  batch.sample_ids = Tensor::zeros({1}, DType::i64);
  if (c.token_types > 0) batch.types = data::filled(1, std::ssize(ids), 0);
  if (c.architecture->reads_prompts_both_ways(c))
    batch.prefix = Tensor::from(Ids{narrow<int32_t>(std::ssize(ids))}, {1});
  made.tokens = spelled(tokenizer, ids);
  return made;
}

AttendedText attended_pair(const TrainedModel& model, const text::Tokenizer& sources,
                           const data::PairForm& form, const std::string& source,
                           const std::string& target) {
  const ModelConfig& c = model.model;
  const text::Tokenizer& targets = *model.state.tokenizer;
  constexpr int64_t kAll = int64_t{1} << 40;  // so that nothing is cut without a word
  const data::TokenPair pair{form.source.framed(sources.encode(source), kAll),
                             form.target.framed(targets.encode(target), kAll)};
  require(!pair.source.empty(), "a source to attend to is empty; give one with at least one token");
  check_length(pair.source, c.architecture->source_context(c), "source");
  check_length(pair.labels, c.context, "target");
  check_known(pair.source, c.architecture->source_ids(c), "source");
  check_known(pair.labels, c.vocab_size, "target");
  const std::vector<data::TokenPairs> rows{{pair}};
  AttendedText made;
  made.batch = two_sided_batch(rows,
                               {.source_length = std::ssize(pair.source),
                                .target_length = std::ssize(pair.labels),
                                .start = form.start},
                               {0, 1});
  made.tokens = spelled(targets, ids_of(made.batch.tokens));
  made.next = spelled(targets, pair.labels);
  made.source = spelled(sources, pair.source);
  made.copied = copied_tokens(made, pair.labels, targets);
  return made;
}

std::string AttentionMap::name() const {
  return fmt::format("block {}, {}", block, memory ? "source" : "self");
}

namespace {

struct MapHead {
  int64_t block, memory, first_head, heads, queries, keys;
};

// Of one rank's heads, layer by layer, as bytes.
class Recorder : public AttentionWatcher {
 public:
  void see(const SeenAttention& seen) override {
    const Tensor weights = kernels::attention_weights(seen.q, seen.k, seen.arguments);
    SKEIN_CHECK_EQ(weights.dim(0), 1);
    add({seen.block, seen.memory, seen.arguments.first_head, weights.dim(1), weights.dim(2),
         weights.dim(3)},
        weights);
  }
  // Of all heads, 0 where there is no link.
  void see(const SeenLinks& seen) override {
    const Tensor found = seen.weights.to(Device{}).to(DType::f64);
    const kernels::Links links = seen.links.to(Device{});
    const int64_t heads = found.dim(1), rows = links.row_count(), columns = links.column_count();
    const Tensor weights = Tensor::zeros({heads, rows, columns}, DType::f64);
    for (int64_t e = 0; e < links.size(); ++e)
      for (int64_t head = 0; head < heads; ++head)
        weights.data<double>()[(head * rows + links.rows.data<int32_t>()[e]) * columns +
                               links.columns.data<int32_t>()[e]] +=
            found.data<double>()[e * heads + head];
    add({seen.block, 0, seen.first_head, heads, rows, columns}, weights);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void add(const MapHead& head, const Tensor& weights) {
    bytes_.append(reinterpret_cast<const char*>(&head), sizeof head);
    bytes_.append(reinterpret_cast<const char*>(weights.bytes_data()),
                  static_cast<size_t>(weights.bytes()));
  }

  std::string bytes_;
};

using MapParts = std::map<std::pair<int64_t, int64_t>, std::map<int64_t, Tensor>>;

// Into `parts`, by layer and first head.
void unpack_maps(const std::string& bytes, MapParts& parts) {
  for (size_t at = 0; at < bytes.size();) {
    MapHead head{};
    std::memcpy(&head, bytes.data() + at, sizeof head);
    const Tensor weights = Tensor::empty({head.heads, head.queries, head.keys}, DType::f64);
    std::memcpy(weights.bytes_data(), bytes.data() + at + sizeof head,
                static_cast<size_t>(weights.bytes()));
    parts[{head.block, head.memory}][head.first_head] = weights;
    at += sizeof head + static_cast<size_t>(weights.bytes());
  }
}

// Heads one after the other.
Tensor joined(const std::map<int64_t, Tensor>& parts) {
  int64_t heads = 0;
  for (const auto& [first, part] : parts) heads += part.dim(0);
  const Tensor &one = parts.begin()->second,
               made = Tensor::empty({heads, one.dim(1), one.dim(2)}, DType::f64);
  for (const auto& [first, part] : parts) made.rows(first, first + part.dim(0)).copy_from(part);
  return made;
}

}  // namespace

std::vector<AttentionMap> attention_maps(const AttendedText& text, const EvaluatedModel& model) {
  Recorder recorder;
  Pass watched = model.pass;
  watched.sequence_parallel = false;
  watched.watcher = &recorder;
  PipelineStep step;
  step.train = step.losses = false;
  step.micro_batches.push_back(text.batch);
  model.pipeline.run(step, watched);
  // Data-parallel ranks have seen the same.
  MapParts parts;
  for (const std::string& bytes :
       model.mesh.world().all_gather(model.mesh.dp().rank() == 0 ? recorder.bytes() : ""))
    unpack_maps(bytes, parts);
  std::vector<AttentionMap> made;
  for (const auto& [layer, heads] : parts)
    made.push_back({static_cast<int>(layer.first), layer.second != 0, joined(heads)});
  return made;
}

namespace {

struct Look {
  int64_t key = 0;  // of the largest weight, the first of several
  double entropy = 0;
  int64_t seen = 0;  // keys
};

Look look_of(const double* weights, int64_t keys) {
  Look made;
  for (int64_t key = 0; key < keys; ++key) {
    const double weight = weights[key];
    if (weight <= 0) continue;
    ++made.seen;
    made.entropy -= weight * std::log(weight);
    if (weight > weights[made.key]) made.key = key;
  }
  return made;
}

}  // namespace

void AttentionHabits::add(const AttendedText& text, const std::vector<AttentionMap>& maps) {
  for (const AttentionMap& map : maps) {
    const int64_t queries = map.weights.dim(1), keys = map.weights.dim(2);
    for (int64_t row = 0; row < map.weights.dim(0) * queries; ++row) {
      const int64_t query = row % queries;
      const Look look = look_of(map.weights.data<double>() + row * keys, keys);
      if (look.seen < 2 || (map.memory && !text.copied[static_cast<size_t>(query)])) continue;
      Counts& counts = counts_[{map.block, map.memory, row / queries}];
      ++counts.by_distance[look.key - query];
      counts.entropy += look.entropy;
      ++counts.queries;
    }
  }
}

std::vector<AttentionHabits::Habit> AttentionHabits::habits() const {
  std::vector<Habit> made;
  for (const auto& [place, counts] : counts_) {
    const auto rank = [](const auto& one) {
      return std::tuple(one.second, -std::abs(one.first), -one.first);
    };
    const auto most = std::ranges::max_element(counts.by_distance, {},
                                               [&](const auto& one) { return rank(one); });
    const auto& [block, memory, head] = place;
    made.push_back({block, memory, head, most->first, ratio(most->second, counts.queries),
                    counts.entropy / static_cast<double>(counts.queries), counts.queries});
  }
  return made;
}

}  // namespace skein::train
