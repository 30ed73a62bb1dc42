// Turns blended token stores into micro-batches. A batch is a pure function of the options and of
// the numbers of its samples, so every rank that needs it makes the same one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skein/core/numbers.h"
#include "skein/data/samples/batch.h"
#include "skein/data/samples/order.h"
#include "skein/data/samples/source.h"
#include "skein/data/stores/store.h"

namespace skein::data {

struct DataConfig {
  std::vector<std::string> train;       // "path" or "weight:path", each a token store
  std::vector<std::string> validation;  // the same; empty: none
  // of token files of other programs that do not name theirs: a path that load_tokenizer takes
  std::string tokenizer;
  int64_t vocab_size = 0;  // theirs where no tokenizer is known; 0: it must be
  bool shuffle = true;
  bool cross_document_attention = true;  // false: attention and positions stop at document ends
  // true: predicting the first token of the next document does not count
  bool mask_document_ends = false;
  // of samples, tokens from the beginning of one to that of the next, whose targets are the last so
  // many of each; 0: its length, all of them
  int64_t stride = 0;
  // mean part of a sample that is its prefix (data/samples/prefix.h); 0: there are none
  double prefix = 0;
};

// Stores that are trained on together, and how often each.
struct Blend {
  std::vector<std::shared_ptr<TokenStore>> stores;
  std::vector<double> weights;
};

// entries as in DataConfig::train. A usage error when there are none, when the stores were made by
// different tokenizers or when a vocabulary is unknown.
Blend open_blend(const std::vector<std::string>& entries, const DataConfig& config);
// The same of stores whose tokenizer is known, with all ids that they hold; else a usage error.
// user: what needs to know it, as "masking".
Blend open_tokenized_blend(const std::vector<std::string>& entries, const DataConfig& config,
                           const std::string& user);

// Samples of blended stores.
class BlendedSource : public RowSource {
 public:
  int64_t samples_per_epoch() const final { return order_->samples_per_epoch(); }
  int64_t vocab_size() const { return blend_.stores.front()->info().vocab_size; }
  const TokenStore& store(int64_t index) const { return *blend_.stores[index]; }
  const std::vector<std::shared_ptr<TokenStore>>& all_stores() const { return blend_.stores; }

 protected:
  explicit BlendedSource(Blend blend) : blend_(std::move(blend)) {}
  // sizes: samples of each store. To be called once.
  void mix(std::vector<int64_t> sizes, uint64_t seed, bool shuffle) {
    order_ = std::make_unique<SampleOrder>(std::move(sizes), blend_.weights, seed,
                                           training_order(shuffle));
  }
  const SampleOrder& order() const { return *order_; }
  // The key of what is drawn for samples of a store in an epoch, such as "masks".
  static uint64_t draws_key(uint64_t seed, const std::string& drawn, int dataset, int64_t epoch);

 private:
  Blend blend_;
  std::unique_ptr<SampleOrder> order_;
};

class Loader : public BlendedSource {
 public:
  // entries as in DataConfig::train. Samples of a store are windows of length + 1 tokens at
  // multiples of the stride (where it is the length, neighbours share one token). A usage error
  // when a store holds fewer than length + 1 tokens (both numbers), for a stride beyond the length,
  // for a prefix that is no part, or as open_blend.
  Loader(const std::vector<std::string>& entries, int64_t length, uint64_t seed,
         const DataConfig& config);

  // Of the first `samples`, those that were seen before (SampleOrder::seen_again).
  double samples_seen_again(int64_t samples) const { return order().seen_again(samples); }

 private:
  Batch empty_batch(int64_t count) const override;
  void fill(const Batch& batch, int64_t row, int64_t index) const override;

  int64_t length_ = 0, stride_ = 0;
  uint64_t seed_ = 0;
  DataConfig config_;
};

// Loads the next batches on a thread of its own while the current ones are used.
class Prefetcher {
 public:
  // Will be asked for these samples, shifted. threads: as SampleSource::batch has it.
  Prefetcher(const SampleSource& source, const SampleRange& range, int threads = 1);
  ~Prefetcher();
  // The batch of the range shifted by `by`; then starts on the one shifted by `next` (pass -1 for
  // none).
  Batch take(int64_t by, int64_t next);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace skein::data
