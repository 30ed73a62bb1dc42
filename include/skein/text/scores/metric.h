// How near generated texts are to those that were wanted, by the field's metrics.
//
//   const auto bleu = make_metric("bleu", {});
//   Counts sums(bleu->width());
//   for (const Sample& sample : samples) bleu->add(sample.text, sample.references, sums);
//   bleu->values(sums).scores.front().second;    // 27.31
//
// A metric is made of whole numbers alone: what a sample counts, and what a corpus counts, which is
// their sum, place by place. So sums over samples, files or ranks are equal in any order, and a
// resampled corpus is a sum with other weights. Scores are per cent: 100 is the best (but for TER,
// where 0 is).
//
// Texts are UTF-8; a byte that is not part of it counts as U+FFFD. White space, lower case and the
// kinds of characters are those of Python's str, in which the reference programs are written.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skein/core/values.h"

namespace skein::text {

using Counts = std::vector<int64_t>;

struct MetricValues {
  NamedValues scores;   // what systems are compared by
  NamedValues details;  // what these are made of
};

class Metric {
 public:
  virtual ~Metric() = default;

  // As tables have it: "BLEU", "chrF2++".
  virtual std::string name() const = 0;
  virtual bool less_is_better() const { return false; }
  // How many numbers a sample counts.
  virtual int64_t width() const = 0;
  // Adds what one sample counts to `sums`, `width()` numbers. references: at least one, of which
  // none needs to be reached but the best. Thread-safe.
  void add(std::string_view hypothesis, std::span<const std::string> references,
           std::span<int64_t> sums) const;
  virtual MetricValues values(std::span<const int64_t> sums) const = 0;
  // Of what one sample counts. The same but for BLEU, which then ends at the longest n-gram that
  // the hypothesis has (sacrebleu's sentence_bleu).
  virtual MetricValues sample_values(std::span<const int64_t> counts) const {
    return values(counts);
  }
  // What makes two numbers comparable, in sacrebleu's form:
  // "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:skein-0.1.0". references: how many each
  // sample has, 0 where that varies. resampling: "bs:1000|seed:1" where there is any.
  std::string signature(int64_t references, const std::string& resampling = "") const;

 private:
  // Of valid UTF-8.
  virtual void count(std::string_view hypothesis, std::span<const std::string> references,
                     std::span<int64_t> sums) const = 0;
  // "case:mixed|eff:no|tok:13a|smooth:exp".
  virtual std::string settings() const = 0;
};

}  // namespace skein::text
