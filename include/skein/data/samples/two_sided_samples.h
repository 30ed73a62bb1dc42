// Records of two columns of tokens, "source" and "target", as samples with two sides.
//
// Order: that of SampleOrder, in which each reduction group, `group` samples that begin at a
// multiple of it, is sorted by length, so that micro-batches hold samples of like lengths and
// little padding. The sorted order is the samples' order: it does not depend on how a group is cut,
// and neither do bits. No sort crosses the end of a pass over the data, so each pass has every
// sample once, as long as `group` stays what it is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/columns/records.h"
#include "skein/data/samples/order.h"
#include "skein/data/samples/pair_form.h"
#include "skein/data/samples/source.h"
#include "skein/data/samples/two_sided.h"

namespace skein::data {

// What becomes of a pair with a side that is too long. cut: that side loses its last tokens, but
// not what stands around a text. drop: the pair is left out.
enum class LongPairs { cut, drop };

struct TwoSidedConfig {
  // tokens, with those around a text; 0: what the model has room for (settled)
  int64_t source_length = 0, target_length = 0;
  LongPairs longer = LongPairs::cut;
  bool pack = false;    // several pairs a row, as many as both lengths hold
  std::string start{};  // as pair_form has it
};
// Binds every field under section "task".
void bind(Options& options, TwoSidedConfig& config);
// The same with lengths for a model of so many places: where none is given all of them, but at most
// 128. A usage error naming both values for a length that the model has no room for.
TwoSidedConfig settled(const TwoSidedConfig& config, int64_t source_places, int64_t target_places);

// How samples become batches.
struct TwoSidedOrder {
  // rows are as long as a multiple of it where the model has places for that
  int64_t multiple = 8;
  int64_t source_places = 0, target_places = 0;  // that it has; 0: any number
  int64_t group = 1;  // samples of a reduction group; 1: nothing is sorted
  uint64_t seed = 1;
  bool shuffle = true;  // each epoch in another order; else row i is i, but for the sort
};

struct TwoSidedCounts {
  int64_t pairs = 0;    // that are there
  int64_t dropped = 0;  // of which a side is too long
  int64_t cut_sources = 0, cut_targets = 0;
  int64_t rows = 0;
  int64_t source_tokens = 0, target_tokens = 0;  // of all rows, without padding
};
// "1200 pairs of train.tsv in 1200 rows, ...", and what was dropped or cut and by which option.
std::string told_counts(const TwoSidedCounts& counts, const TwoSidedConfig& config,
                        const std::string& what);

// Which pairs of the records stand in each row, and how long those are.
class PairRows {
 public:
  // A usage error for lengths that leave no room for a token, and where no pair is left.
  PairRows(std::shared_ptr<const Records> records, const PairForm& form,
           const TwoSidedConfig& config);

  int64_t count() const { return counts_.rows; }
  const TwoSidedCounts& counts() const { return counts_; }
  const Records& records() const { return *records_; }
  // Tokens of a row's source, and of its target.
  std::pair<int64_t, int64_t> lengths(int64_t row) const;
  // A usage error for a token outside of the vocabulary, and for the padding token in a text.
  TokenPairs row(int64_t row) const;

 private:
  std::vector<int32_t> text_tokens(size_t column, int64_t pair, int32_t pad) const;
  std::pair<int64_t, int64_t> wanted(int64_t pair) const;
  std::pair<int64_t, int64_t> kept(int64_t pair) const;
  bool fits(int64_t pair) const;
  void keep_what_fits();
  void pack();
  std::vector<int64_t> pairs_of(int64_t row) const;

  std::shared_ptr<const Records> records_;
  size_t source_, target_;
  PairForm form_;
  TwoSidedConfig config_;
  TwoSidedCounts counts_;
  // Row k has pairs_[starts_[k]] to pairs_[starts_[k + 1]], without starts the pair pairs_[k], and
  // without pairs the pair k.
  std::vector<int64_t> pairs_, starts_;
};

class TwoSidedSamples : public SampleSource {
 public:
  // Parts are blended by weight, as SampleOrder has it.
  TwoSidedSamples(std::vector<PairRows> parts, std::vector<double> weights, const PairForm& form,
                  const TwoSidedConfig& config, const TwoSidedOrder& order);

  // Sorts by groups of so many samples from now on. Where an order has been begun with other
  // groups, samples from the end of a group of either size on are those that were not there yet.
  void sort_by(int64_t group);

  int64_t samples_per_epoch() const override { return order_.samples_per_epoch(); }
  const std::vector<PairRows>& parts() const { return parts_; }
  double samples_seen_again(int64_t samples) const { return order_.seen_again(samples); }

 private:
  Batch make_batch(const SampleRange& range, int threads) const override;
  std::pair<int64_t, int64_t> sorted_range(int64_t index) const;
  std::vector<SampleIndex> sorted(int64_t begin, int64_t end) const;
  TwoSidedShape shape_of(const std::vector<TokenPairs>& rows) const;

  std::vector<PairRows> parts_;
  PairForm form_;
  TwoSidedConfig config_;
  TwoSidedOrder how_;
  SampleOrder order_;
};

}  // namespace skein::data
