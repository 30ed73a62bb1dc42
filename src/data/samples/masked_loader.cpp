#include "skein/data/samples/masked_loader.h"

#include <algorithm>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::data {

// A sample before its tokens are hidden.
struct MaskedLoader::Draft {
  std::vector<int32_t> tokens, types, documents;
  bool apart = false;

  void add(const std::vector<int32_t>& ids, int32_t type) {
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    types.resize(tokens.size(), type);
    documents.resize(tokens.size(), documents.empty() ? 0 : documents.back());
  }
};

namespace {

Blend open_masked(const std::vector<std::string>& entries, int64_t length, const DataConfig& data,
                  const MaskConfig& mask) {
  check(mask);
  require(length >= 8,
          "samples of {} tokens are too short for an encoder, whose [CLS] and [SEP] take up to 3 "
          "of them; use at least 8 (model.context)",
          length);
  return open_tokenized_blend(entries, data, "masking");
}

}  // namespace

MaskedLoader::MaskedLoader(const std::vector<std::string>& entries, int64_t length, uint64_t seed,
                           const DataConfig& data, const MaskConfig& mask)
    : BlendedSource(open_masked(entries, length, data, mask)),
      vocabulary_(*store(0).info().tokenizer, store(0).path()),
      length_(length),
      places_(most_places(mask, length)),
      seed_(seed),
      data_(data),
      mask_(mask) {
  std::vector<int64_t> sizes;
  for (const auto& store : all_stores()) {
    check_pairs(*store, mask.pairs);
    if (with_pairs()) runs_.push_back(sentence_runs(*store, length - 3, mask.short_samples, seed));
    sizes.push_back(with_pairs() ? std::ssize(runs_.back()) : store->info().tokens / (length - 2));
    require(sizes.back() > 0,
            "{} holds {} tokens, but one sample of length {} takes {} beside [CLS] and [SEP]; use "
            "more text or a shorter model.context",
            store->path(), store->info().tokens, length, length - 2);
  }
  mix(std::move(sizes), seed, data.shuffle);
}

MaskedLoader::Draft MaskedLoader::running_text(const TokenStore& store, int64_t sample) const {
  const text::TokenRoles& roles = vocabulary_.roles();
  const int64_t begin = sample * (length_ - 2);
  std::vector<int32_t> text(length_ - 2);
  store.read(begin, text);
  std::replace(text.begin(), text.end(), narrow<int32_t>(store.info().end_of_text), roles.sep);
  Draft draft;
  draft.add({roles.cls}, 0);
  draft.add(text, 0);
  draft.add({roles.sep}, 0);
  if (data_.cross_document_attention) return draft;
  const int64_t first = store.document_at(begin);
  int64_t document = first;
  for (int64_t i = 0; i < length_ - 2; ++i) {
    while (std::cmp_less_equal(store.documents()[document + 1], begin + i)) ++document;
    draft.documents[i + 1] = narrow<int32_t>(document - first);
  }
  draft.documents.back() = narrow<int32_t>(document - first);
  return draft;
}

MaskedLoader::Draft MaskedLoader::pair(size_t store, int64_t sample, const Draws& draws) const {
  const text::TokenRoles& roles = vocabulary_.roles();
  const PairSample parts =
      make_pair_sample(this->store(store), runs_[store][sample], mask_.pairs, draws);
  Draft draft;
  draft.add({roles.cls}, 0);
  draft.add(parts.first, 0);
  draft.add({roles.sep}, 0);
  draft.add(parts.second, 1);
  draft.add({roles.sep}, 1);
  draft.apart = parts.apart;
  return draft;
}

Batch MaskedLoader::empty_batch(int64_t count) const {
  Batch made = padded_batch(count, {.length = length_,
                                    .places = places_,
                                    .pad = vocabulary_.roles().pad,
                                    .segments = with_pairs() || !data_.cross_document_attention,
                                    .types = with_pairs()});
  made.lengths = {};
  if (with_pairs()) made.pair_labels = Tensor::zeros({count}, DType::i32);
  return made;
}

namespace {

// The text's documents keep apart, and what is behind it keeps apart from all.
void fill_marks(const std::vector<int32_t>& documents, const Batch& batch, int64_t row) {
  const int32_t length = narrow<int32_t>(batch.length()), held = narrow<int32_t>(documents.size());
  int32_t* positions = row_of<int32_t>(batch.positions, row);
  int32_t* segments = batch.segments.defined() ? row_of<int32_t>(batch.segments, row) : nullptr;
  int32_t origin = 0;
  for (int32_t t = 0; t < length; ++t) {
    if (t > 0 && t < held && documents[t] != documents[t - 1]) origin = t;
    positions[t] = t - (t < held ? origin : 0);
    if (segments) segments[t] = t < held ? documents[t] : -1;
  }
}

}  // namespace

void MaskedLoader::fill(const Batch& batch, int64_t row, int64_t index) const {
  const SampleIndex found = order().at(index);
  const int64_t epoch = mask_.fixed ? 0 : found.epoch;
  const uint64_t key = draws_key(seed_, "masks", found.dataset, epoch);
  const uint64_t stream = found.sample * 2;
  Draft draft = runs_.empty() ? running_text(store(found.dataset), found.sample)
                              : pair(found.dataset, found.sample, Draws(key, stream));
  const MaskedTokens masked =
      mask_tokens(draft.tokens, vocabulary_, mask_, places_, Draws(key, stream + 1));
  fill_marks(draft.documents, batch, row);
  std::ranges::copy(draft.tokens, row_of<int32_t>(batch.tokens, row));
  if (with_pairs()) std::ranges::copy(draft.types, row_of<int32_t>(batch.types, row));
  if (with_pairs()) batch.pair_labels.data<int32_t>()[row] = draft.apart;
  std::ranges::copy(masked.places, row_of<int32_t>(batch.places, row));
  std::ranges::copy(masked.targets, row_of<int32_t>(batch.targets, row));
  std::fill_n(row_of<float>(batch.weights, row), masked.places.size(), 1.0f);
}

}  // namespace skein::data
