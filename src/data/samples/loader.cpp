#include "skein/data/samples/loader.h"

#include <algorithm>
#include <string_view>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/data/samples/prefix.h"
#include "skein/data/samples/windows.h"
#include "skein/data/stores/data_file.h"
#include "skein/text/tokenizer.h"

namespace skein::data {
namespace {

int64_t samples_in(const TokenStore& store, int64_t length, int64_t stride) {
  const int64_t tokens = store.info().tokens;
  require(tokens > length,
          "{} holds {} tokens, but one sample of length {} takes {} (the last token's target "
          "included); use more text or a shorter sequence",
          store.path(), tokens, length, length + 1);
  return (tokens - 1 - length) / stride + 1;
}

void check_same_tokenizer(const TokenStore& first, const TokenStore& other) {
  const StoreInfo& left = first.info();
  const StoreInfo& right = other.info();
  const std::string_view hint = "encode both with the same one (`skein-data encode --tokenizer`)";
  require(left.vocab_size == right.vocab_size,
          "{} has a vocabulary of {} ids but {} has {}: they were made by different tokenizers; {}",
          first.path(), left.vocab_size, other.path(), right.vocab_size, hint);
  require(left.end_of_text == right.end_of_text,
          "{} ends documents with id {} but {} with {}: they were made by different tokenizers; {}",
          first.path(), left.end_of_text, other.path(), right.end_of_text, hint);
  require(same_tokenizer(left.tokenizer, right.tokenizer),
          "{} and {} were made by different tokenizers, both of {} ids; {}", first.path(),
          other.path(), left.vocab_size, hint);
}

}  // namespace

Blend open_blend(const std::vector<std::string>& entries, const DataConfig& config) {
  require(!entries.empty(), "no token store was given; name at least one, as data.train=corpus.h5");
  const TokenNotes notes = notes_of_tokenizer(config.tokenizer, config.vocab_size);
  Blend blend;
  for (const std::string& text : entries) {
    const DataEntry entry = data_entry(text);
    blend.stores.push_back(std::make_shared<TokenStore>(entry.path, notes));
    blend.stores.back()->require_vocabulary();
    check_same_tokenizer(*blend.stores.front(), *blend.stores.back());
    blend.weights.push_back(entry.weight);
  }
  return blend;
}

Blend open_tokenized_blend(const std::vector<std::string>& entries, const DataConfig& config,
                           const std::string& user) {
  Blend blend = open_blend(entries, config);
  const TokenStore& first = *blend.stores.front();
  const text::StoredTokenizer& tokenizer = first.info().tokenizer;
  require(!tokenizer.empty(),
          "{} names no tokenizer, and {} needs to know its special tokens; give data.tokenizer",
          first.path(), user);
  require(tokenizer->vocab_size() >= first.info().vocab_size,
          "{} holds ids up to {}, but its tokenizer has {}; encode it again", first.path(),
          first.info().vocab_size - 1, tokenizer->vocab_size());
  return blend;
}

uint64_t BlendedSource::draws_key(uint64_t seed, const std::string& drawn, int dataset,
                                  int64_t epoch) {
  return derive_key(derive_key(seed, fmt::format("{} of store {}", drawn, dataset)),
                    fmt::format("epoch {}", epoch));
}

namespace {

Blend open_for(int64_t length, const std::vector<std::string>& entries, const DataConfig& config) {
  require(length > 0, "samples of length {} were asked for; a sample has at least 1 token", length);
  require(config.stride >= 0 && config.stride <= length,
          "data.stride={} is outside of 1 to model.context={}; 0 stands for all of it",
          config.stride, length);
  require(config.prefix >= 0 && config.prefix < 1,
          "lm.prefix={} must be in [0, 1): the mean part of a sample that is its prefix",
          config.prefix);
  return open_blend(entries, config);
}

}  // namespace

Loader::Loader(const std::vector<std::string>& entries, int64_t length, uint64_t seed,
               const DataConfig& config)
    : BlendedSource(open_for(length, entries, config)),
      length_(length),
      stride_(config.stride > 0 ? config.stride : length),
      seed_(seed),
      config_(config) {
  std::vector<int64_t> sizes;
  for (const auto& store : all_stores()) sizes.push_back(samples_in(*store, length_, stride_));
  mix(std::move(sizes), seed, config.shuffle);
}

Batch Loader::empty_batch(int64_t count) const {
  Batch made = data::empty_batch(count, length_, config_);
  if (config_.prefix > 0) made.prefix = Tensor::empty({count}, DType::i32);
  return made;
}

void Loader::fill(const Batch& batch, int64_t row, int64_t index) const {
  const SampleIndex found = order().at(index);
  fill_row(store(found.dataset), found.sample * stride_, config_, batch, row);
  std::fill_n(row_of<float>(batch.weights, row), length_ - stride_, 0.0f);
  if (!batch.prefix.defined()) return;
  const uint64_t key = draws_key(seed_, "prefixes", found.dataset, found.epoch);
  const auto sample = static_cast<uint64_t>(found.sample);
  set_prefix(batch, row, drawn_prefix(config_.prefix, length_, Draws(key, sample)));
}

}  // namespace skein::data
