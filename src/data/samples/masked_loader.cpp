#include "skein/data/samples/masked_loader.h"

#include <algorithm>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein {

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

MaskedLoader::MaskedLoader(const std::vector<std::string>& entries, int64_t length, uint64_t seed,
                           const DataConfig& data, const MaskConfig& mask)
    : length_(length), places_(most_places(mask, length)), seed_(seed), data_(data), mask_(mask) {
  check(mask);
  require(length >= 8,
          "samples of {} tokens are too short for an encoder, whose [CLS] and [SEP] take up to 3 "
          "of them; use at least 8 (model.context)",
          length);
  Blend blend = open_blend(entries, data);
  stores_ = std::move(blend.stores);
  require(
      !stores_.front()->info().tokenizer.empty(),
      "{} names no tokenizer, and masking needs to know its special tokens; give data.tokenizer",
      stores_.front()->path());
  const StoredTokenizer& tokenizer = stores_.front()->info().tokenizer;
  require(tokenizer->vocab_size() >= stores_.front()->info().vocab_size,
          "{} holds ids up to {}, but its tokenizer has {}; encode it again",
          stores_.front()->path(), stores_.front()->info().vocab_size - 1, tokenizer->vocab_size());
  vocabulary_ = std::make_unique<MaskVocabulary>(*tokenizer, stores_.front()->path());
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < stores_.size(); ++i) {
    check_pairs(*stores_[i], mask.pairs);
    if (mask.pairs != PairTask::none)
      runs_.push_back(sentence_runs(*stores_[i], length - 3, mask.short_samples, seed));
    sizes.push_back(samples_in(i));
    require(sizes.back() > 0,
            "{} holds {} tokens, but one sample of length {} takes {} beside [CLS] and [SEP]; use "
            "more text or a shorter model.context",
            stores_[i]->path(), stores_[i]->info().tokens, length, length - 2);
  }
  order_ =
      std::make_unique<SampleOrder>(std::move(sizes), std::move(blend.weights), seed, data.shuffle);
}

int64_t MaskedLoader::samples_in(size_t store) const {
  return runs_.empty() ? stores_[store]->info().tokens / (length_ - 2) : std::ssize(runs_[store]);
}

int64_t MaskedLoader::samples_per_epoch() const {
  int64_t samples = 0;
  for (size_t i = 0; i < stores_.size(); ++i) samples += samples_in(i);
  return samples;
}

MaskedLoader::Draft MaskedLoader::running_text(const TokenStore& store, int64_t sample) const {
  const TokenRoles& roles = vocabulary_->roles();
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
  const TokenRoles& roles = vocabulary_->roles();
  const PairSample parts =
      make_pair_sample(*stores_[store], runs_[store][sample], mask_.pairs, draws);
  Draft draft;
  draft.add({roles.cls}, 0);
  draft.add(parts.first, 0);
  draft.add({roles.sep}, 0);
  draft.add(parts.second, 1);
  draft.add({roles.sep}, 1);
  draft.apart = parts.apart;
  return draft;
}

Batch MaskedLoader::empty(int64_t count) const {
  Batch made;
  const bool pairs = with_pairs();
  for (Tensor* of_tokens : {&made.tokens, &made.positions})
    *of_tokens = Tensor::zeros({count, length_}, DType::i32);
  for (Tensor* of_places : {&made.targets, &made.places})
    *of_places = Tensor::zeros({count, places_}, DType::i32);
  made.weights = Tensor::zeros({count, places_}, DType::f32);
  made.sample_ids = Tensor::zeros({count}, DType::i64);
  if (pairs || !data_.cross_document_attention)
    made.segments = Tensor::zeros({count, length_}, DType::i32);
  if (!pairs) return made;
  made.types = Tensor::zeros({count, length_}, DType::i32);
  made.pair_labels = Tensor::zeros({count}, DType::i32);
  return made;
}

namespace {

void copy_row(const std::vector<int32_t>& from, const Tensor& to, int64_t row) {
  std::copy(from.begin(), from.end(), to.data<int32_t>() + row * to.dim(1));
}

// The text's documents keep apart, and what is behind it keeps apart from all.
void fill_marks(const std::vector<int32_t>& documents, const Batch& batch, int64_t row) {
  const int32_t length = narrow<int32_t>(batch.length()), held = narrow<int32_t>(documents.size());
  int32_t* positions = batch.positions.data<int32_t>() + row * length;
  int32_t* segments =
      batch.segments.defined() ? batch.segments.data<int32_t>() + row * length : nullptr;
  int32_t origin = 0;
  for (int32_t t = 0; t < length; ++t) {
    if (t > 0 && t < held && documents[t] != documents[t - 1]) origin = t;
    positions[t] = t - (t < held ? origin : 0);
    if (segments) segments[t] = t < held ? documents[t] : -1;
  }
}

}  // namespace

void MaskedLoader::fill(const Batch& batch, int64_t row, int64_t index) const {
  const SamplePlace place = order_->at(index);
  const size_t store = place.dataset;
  const uint64_t epoch = mask_.fixed ? 0 : place.epoch;
  const uint64_t key = derive_key(derive_key(seed_, fmt::format("masks of store {}", store)),
                                  fmt::format("epoch {}", epoch));
  const uint64_t stream = place.sample * 2;
  Draft draft = runs_.empty() ? running_text(*stores_[store], place.sample)
                              : pair(store, place.sample, Draws(key, stream));
  const Masked masked =
      mask_tokens(draft.tokens, *vocabulary_, mask_, places_, Draws(key, stream + 1));
  fill_marks(draft.documents, batch, row);
  if (batch.types.defined()) copy_row(draft.types, batch.types, row);
  if (batch.pair_labels.defined()) batch.pair_labels.data<int32_t>()[row] = draft.apart;
  draft.tokens.resize(length_, vocabulary_->roles().pad);
  copy_row(draft.tokens, batch.tokens, row);
  std::fill_n(batch.places.data<int32_t>() + row * places_, places_, -1);
  copy_row(masked.places, batch.places, row);
  copy_row(masked.targets, batch.targets, row);
  std::fill_n(batch.weights.data<float>() + row * places_, masked.places.size(), 1.0f);
  batch.sample_ids.data<int64_t>()[row] = index;
}

Batch MaskedLoader::batch(int64_t first, int64_t count) const {
  SKEIN_CHECK(first >= 0 && count > 0);
  const Batch made = empty(count);
  for (int64_t row = 0; row < count; ++row) fill(made, row, first + row);
  return made;
}

}  // namespace skein
