#include "skein/data/noise/denoising_loader.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/data/noise/span_noise.h"
#include "skein/data/noise/text_noise.h"
#include "skein/data/samples/two_sided.h"

#include "store_text.h"

namespace skein::data {
namespace {

// The ends of a sample and a few words.
constexpr int64_t kLeastPlaces = 8;

// A side of a sample, with the segment of each token.
struct SideTokens {
  std::vector<int32_t> ids, segments;

  void add(int32_t id, int32_t segment) {
    ids.push_back(id);
    segments.push_back(segment);
  }
};

Blend open_noised(const std::vector<std::string>& entries, const DataConfig& data,
                  const NoiseConfig& noise) {
  check(noise);
  require(data.cross_document_attention || noise.kind == NoiseKind::text ||
              noise.samples == NoiseSamples::documents,
          "data.cross_document_attention=false keeps documents apart, but noise.kind=spans removes "
          "spans that begin in one and end in the next where noise.samples=windows; give "
          "noise.samples=documents");
  return open_tokenized_blend(entries, data, "noise");
}

void check_places(const NoiseConfig& noise, const DenoisingRows& rows, int64_t source,
                  int64_t target) {
  require(source >= kLeastPlaces, "noise.length is {}; a source has at least {} tokens", source,
          kLeastPlaces);
  require(rows.source == 0 || source <= rows.source,
          "noise.length={} is more than the {} positions that the model has for a source; give a "
          "shorter one, or a model with more",
          source, rows.source);
  require(rows.target == 0 || target <= rows.target,
          "with noise.kind={} and a source of {} tokens targets have {}, but the model has {} "
          "positions for them; give a shorter noise.length, or a model with more",
          noise.kind == NoiseKind::text ? "text" : "spans", source, target, rows.target);
}

int64_t padded(int64_t length, int64_t multiple, int64_t most) {
  const int64_t made = rounded_up(length, multiple);
  return most > 0 ? std::min(made, most) : made;
}

}  // namespace

struct DenoisingLoader::Sample {
  SideTokens source, target;
  std::vector<float> hidden;  // 1: the target's token is not in the source

  void add_both(int32_t id, int32_t segment);
  void add_text(const std::vector<int32_t>& text, const NoisedText& noised, int32_t segment);
};

DenoisingLoader::Lengths DenoisingLoader::lengths_of(const NoiseConfig& noise,
                                                     const DenoisingRows& rows) {
  const int64_t source = noise.length > 0 ? noise.length : rows.source;
  require(
      source > 0,
      "noise.length is 0, as many tokens as the model has positions, but it has no end of them; "
      "give a length, such as noise.length=512");
  const bool text = noise.kind == NoiseKind::text;
  const SpanCounts spans =
      text ? SpanCounts() : longest_spans(std::max(source, kLeastPlaces), noise);
  const Lengths made =
      text ? Lengths{source, source, source - 2} : Lengths{source, spans.target(), spans.tokens};
  check_places(noise, rows, source, made.target);
  return made;
}

DenoisingLoader::DenoisingLoader(const std::vector<std::string>& entries, const DenoisingRows& rows,
                                 uint64_t seed, const DataConfig& data, const NoiseConfig& noise)
    : BlendedSource(open_noised(entries, data, noise)),
      vocabulary_(*store(0).info().tokenizer, noise, store(0).path()),
      lengths_(lengths_of(noise, rows)),
      padded_{padded(lengths_.source, rows.multiple, rows.source),
              padded(lengths_.target, rows.multiple, rows.target), lengths_.text},
      seed_(seed),
      data_(data),
      noise_(noise) {
  const bool text = noise.kind == NoiseKind::text;
  if (!text)
    require_sentinels(vocabulary_, noise, span_counts(lengths_.text, noise).spans, lengths_.source,
                      store(0).path());
  std::vector<int64_t> sizes;
  for (const auto& store : all_stores()) {
    if (text && noise.permute > 0) store->require_sentences("noise.permute", "noise.permute=0");
    samples_.emplace_back(*store, noise, text ? 1 : 2, lengths_.text);
    sizes.push_back(samples_.back().count());
  }
  mix(std::move(sizes), seed, data.shuffle);
}

DenoisingLoader::~DenoisingLoader() = default;

void DenoisingLoader::Sample::add_both(int32_t id, int32_t segment) {
  source.add(id, segment);
  target.add(id, segment);
  hidden.push_back(0);
}

void DenoisingLoader::Sample::add_text(const std::vector<int32_t>& text, const NoisedText& noised,
                                       int32_t segment) {
  for (const int32_t id : noised.tokens) source.add(id, segment);
  for (const int32_t id : text) target.add(id, segment);
  const auto begin = std::ssize(hidden);
  hidden.resize(begin + text.size(), 1);
  for (const int32_t origin : noised.origins)
    if (origin >= 0) hidden[begin + origin] = 0;
}

DenoisingLoader::Sample DenoisingLoader::text_sample(const TokenStore& store,
                                                     const StoreRange& range, Draws draws) const {
  int64_t room = lengths_.text - (range.end - range.begin);
  int32_t segment = 0;
  Sample made;
  made.add_both(vocabulary_.bos(), segment);
  const std::vector<DocumentText> documents = read_documents(store, range);
  for (size_t i = 0; i < documents.size(); ++i) {
    const DocumentText& text = documents[i];
    if (!data_.cross_document_attention) segment = narrow<int32_t>(i);
    const int64_t most = std::ssize(text.tokens) + room;
    const NoisedText noised =
        noised_text({text.tokens, text.sentences}, vocabulary_, noise_, most, draws);
    room = most - std::ssize(noised.tokens);
    made.add_text(text.tokens, noised, segment);
    if (text.ended) made.add_both(vocabulary_.eos(), segment);
  }
  made.add_both(vocabulary_.eos(), segment);
  return made;
}

std::vector<int32_t> DenoisingLoader::span_text(const TokenStore& store,
                                                const StoreRange& range) const {
  std::vector<int32_t> tokens;
  for (const DocumentText& text : read_documents(store, range))
    tokens.insert(tokens.end(), text.tokens.begin(), text.tokens.end());
  const bool whole =
      noise_.samples == NoiseSamples::documents || std::ssize(tokens) == lengths_.text;
  require(whole,
          "{} has {} tokens of text in [{}, {}) instead of {}: it does not have its end-of-text, "
          "id {}, once a document. Encode it again, or give noise.samples=documents",
          store.path(), tokens.size(), range.begin, range.end, lengths_.text,
          store.info().end_of_text);
  for (const int32_t id : tokens)
    require(!vocabulary_.reserved(id),
            "{} holds id {} in the text of tokens [{}, {}): with noise.kind=spans it means the end "
            "of a sample, padding or a span. Encode it with a tokenizer that keeps it apart",
            store.path(), id, range.begin, range.end);
  return tokens;
}

DenoisingLoader::Sample DenoisingLoader::span_sample(const std::vector<int32_t>& text,
                                                     Draws draws) const {
  const NoisedSpans noised = noised_spans(text, vocabulary_, noise_, draws);
  Sample made;
  for (const int32_t id : noised.source) made.source.add(id, 0);
  for (const int32_t id : noised.target) {
    made.target.add(id, 0);
    made.hidden.push_back(vocabulary_.reserved(id) ? 0.0f : 1.0f);
  }
  return made;
}

Batch DenoisingLoader::empty_batch(int64_t count) const {
  Batch made = padded_sides(count, {.source_length = padded_.source,
                                    .target_length = padded_.target,
                                    .source_pad = vocabulary_.pad(),
                                    .target_pad = vocabulary_.pad()});
  made.known = Tensor::zeros({count, padded_.target, 1}, DType::f32);
  return made;
}

namespace {

void fill_side(const Sequence& side, int64_t row, const SideTokens& tokens) {
  const int32_t length = narrow<int32_t>(tokens.ids.size());
  SKEIN_CHECK(length <= side.length());
  std::ranges::copy(tokens.ids, row_of<int32_t>(side.tokens, row));
  std::ranges::copy(tokens.segments, row_of<int32_t>(side.segments, row));
  int32_t* const positions = row_of<int32_t>(side.positions, row);
  int32_t origin = 0;
  for (int32_t t = 0; t < length; ++t) {
    if (t > 0 && tokens.segments[t] != tokens.segments[t - 1]) origin = t;
    positions[t] = t - origin;
  }
  side.lengths.data<int32_t>()[row] = length;
}

}  // namespace

void DenoisingLoader::fill(const Batch& batch, int64_t row, int64_t index) const {
  const SampleIndex found = order().at(index);
  const int64_t epoch = noise_.fixed ? 0 : found.epoch;
  const Draws draws(draws_key(seed_, "noise", found.dataset, epoch), found.sample);
  const TokenStore& from = store(found.dataset);
  const StoreRange range = samples_[found.dataset].at(found.sample);
  Sample sample = noise_.kind == NoiseKind::text ? text_sample(from, range, draws)
                                                 : span_sample(span_text(from, range), draws);
  fill_side(batch.source, row, sample.source);
  std::ranges::copy(sample.target.ids, row_of<int32_t>(batch.targets, row));
  std::fill_n(row_of<float>(batch.weights, row), sample.target.ids.size(), 1.0f);
  std::ranges::copy(sample.hidden, row_of<float>(batch.known, row));
  std::vector<int32_t>& fed = sample.target.ids;
  std::shift_right(fed.begin(), fed.end(), 1);
  fed.front() = vocabulary_.start();
  fill_side(batch, row, sample.target);
}

}  // namespace skein::data
