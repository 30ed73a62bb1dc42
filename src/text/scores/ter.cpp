#include <algorithm>

#include "edit_rate.h"
#include "make_metrics.h"
#include "means.h"
#include "python_text.h"

namespace skein::text {
namespace {

// Edits, and the mean length of the references, which need not be whole.
constexpr int64_t kTerWidth = 1 + kShareNumbers;

class TerMetric final : public Metric {
 public:
  std::string name() const override { return "TER"; }
  bool less_is_better() const override { return true; }
  int64_t width() const override { return kTerWidth; }

  MetricValues values(std::span<const int64_t> sums) const override {
    const double edits = double(sums[0]), length = sum_of_shares(sums.subspan(1));
    const double rate = length > 0 ? edits / length : (edits > 0 ? 1 : 0);
    return {{{"ter", 100 * rate}}, {{"edits", edits}, {"reference_length", length}}};
  }

 private:
  void count(std::string_view hypothesis, std::span<const std::string> references,
             std::span<int64_t> sums) const override {
    WordNumbers numbers;
    const std::string said = python_lower(hypothesis);
    const Symbols words = numbers.of(python_split(said));
    std::vector<std::string> texts;
    for (const std::string& reference : references) texts.push_back(python_lower(reference));
    int64_t least = -1, lengths = 0;
    for (const std::string& text : texts) {
      const Symbols wanted = numbers.of(python_split(text));
      const int64_t edits = shift_edits(words, wanted);
      least = least < 0 ? edits : std::min(least, edits);
      lengths += std::ssize(wanted);
    }
    sums[0] += least;
    add_share(double(lengths) / double(references.size()), sums.subspan(1));
  }

  std::string settings() const override { return "case:lc|tok:tercom|norm:no|punct:yes|asian:no"; }
};

}  // namespace

std::unique_ptr<const Metric> make_ter() { return std::make_unique<TerMetric>(); }

}  // namespace skein::text
