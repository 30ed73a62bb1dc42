#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

#include "bleu_tokens.h"
#include "grams.h"
#include "make_metrics.h"
#include "python_text.h"

namespace skein::text {
namespace {

constexpr size_t kOrders = 4;

// Where the numbers of a sample stand.
enum Place : size_t { kLength, kReferenceLength, kCorrect, kTotal = kCorrect + kOrders };
constexpr size_t kBleuWidth = kTotal + kOrders;

struct Bleu {
  double score = 0, brevity_penalty = 0;
  std::array<double, kOrders> precisions{};
};

// sacrebleu's logarithm of a precision of nothing.
double log_or_least(double precision) {
  return precision == 0 ? -9999999999.0 : std::log(precision);
}

double brevity_penalty(double length, double reference_length) {
  if (length >= reference_length) return 1;
  return length > 0 ? std::exp(1 - reference_length / length) : 0;
}

class BleuMetric final : public Metric {
 public:
  explicit BleuMetric(const MetricOptions& options) : options_(options) {
    if (options_.smooth_value < 0)
      options_.smooth_value = options_.smoothing == BleuSmoothing::floor ? 0.1 : 1;
  }

  int64_t width() const override { return kBleuWidth; }
  std::string name() const override { return "BLEU"; }

  MetricValues values(std::span<const int64_t> sums) const override {
    return shown(sums, options_.effective_order);
  }

  MetricValues sample_values(std::span<const int64_t> counts) const override {
    return shown(counts, true);
  }

 private:
  void count(std::string_view hypothesis, std::span<const std::string> references,
             std::span<int64_t> sums) const override;
  std::string settings() const override;
  std::string tokens(std::string_view text) const {
    return options_.lowercase ? bleu_tokens(python_lower(text), options_.tokenizer)
                              : bleu_tokens(text, options_.tokenizer);
  }
  Bleu bleu(std::span<const int64_t> sums, bool effective_order) const;
  MetricValues shown(std::span<const int64_t> sums, bool effective_order) const;

  MetricOptions options_;
};

// Of the lengths nearest to `length` the least.
int64_t nearest_length(int64_t length, std::span<const Symbols> references) {
  int64_t best = std::ssize(references.front());
  for (const Symbols& reference : references) {
    const int64_t other = std::ssize(reference);
    const int64_t gain = std::abs(length - best) - std::abs(length - other);
    if (gain > 0 || (gain == 0 && other < best)) best = other;
  }
  return best;
}

// How often each n-gram occurs in the reference that has it most often.
std::vector<int64_t> most_in_references(const Grams& grams, size_t references) {
  std::vector<int64_t> most = grams.counts(1);
  for (size_t r = 2; r <= references; ++r) {
    const std::vector<int64_t> counts = grams.counts(r);
    for (size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], counts[i]);
  }
  return most;
}

void BleuMetric::count(std::string_view hypothesis, std::span<const std::string> references,
                       std::span<int64_t> sums) const {
  std::vector<std::string> texts{tokens(hypothesis)};
  for (const std::string& reference : references) texts.push_back(tokens(reference));
  WordNumbers numbers;
  std::vector<Symbols> sequences;
  for (const std::string& text : texts) sequences.push_back(numbers.of(python_split(text)));
  sums[kLength] += std::ssize(sequences[0]);
  sums[kReferenceLength] +=
      nearest_length(std::ssize(sequences[0]), std::span(sequences).subspan(1));
  Grams grams(std::move(sequences));
  for (size_t n = 0; n < kOrders; ++n) {
    if (n > 0) grams.lengthen();
    sums[kTotal + n] += std::ssize(grams.of(0));
    sums[kCorrect + n] += common(grams.counts(0), most_in_references(grams, references.size()));
  }
}

// Smoothing after Chen and Cherry, "A systematic comparison of smoothing techniques for
// sentence-level BLEU" (2014), as sacrebleu numbers it: floor is method 1, add-k 2, exp 3.
Bleu BleuMetric::bleu(std::span<const int64_t> sums, bool effective_order) const {
  Bleu made;
  made.brevity_penalty = brevity_penalty(sums[kLength], sums[kReferenceLength]);
  bool any = false;
  for (size_t n = 0; n < kOrders; ++n) any = any || sums[kCorrect + n] > 0;
  if (!any) return made;
  size_t orders = kOrders;
  double halved = 1;
  for (size_t n = 0; n < kOrders; ++n) {
    const bool added = options_.smoothing == BleuSmoothing::add_k && n > 0;
    const double more = added ? options_.smooth_value : 0;
    const double correct = sums[kCorrect + n] + more, total = sums[kTotal + n] + more;
    if (total == 0) break;
    if (effective_order) orders = n + 1;
    double& precision = made.precisions[n];
    if (correct > 0)
      precision = 100 * correct / total;
    else if (options_.smoothing == BleuSmoothing::exponential)
      precision = 100 / ((halved *= 2) * total);
    else if (options_.smoothing == BleuSmoothing::floor)
      precision = 100 * options_.smooth_value / total;
  }
  double logs = 0;
  for (size_t n = 0; n < orders; ++n) logs += log_or_least(made.precisions[n]);
  made.score = made.brevity_penalty * std::exp(logs / orders);
  return made;
}

MetricValues BleuMetric::shown(std::span<const int64_t> sums, bool effective_order) const {
  const Bleu made = bleu(sums, effective_order);
  const double length = sums[kLength], wanted = sums[kReferenceLength];
  MetricValues values{{{"bleu", made.score}}, {}};
  for (size_t n = 0; n < kOrders; ++n)
    values.details.emplace_back(fmt::format("precision_{}", n + 1), made.precisions[n]);
  values.details.emplace_back("brevity_penalty", made.brevity_penalty);
  values.details.emplace_back("length_ratio", wanted > 0 ? length / wanted : 0);
  values.details.emplace_back("length", length);
  values.details.emplace_back("reference_length", wanted);
  return values;
}

std::string BleuMetric::settings() const {
  const auto smoothing = [&]() -> std::string {
    switch (options_.smoothing) {
      case BleuSmoothing::floor: return fmt::format("floor[{:.2f}]", options_.smooth_value);
      case BleuSmoothing::add_k: return fmt::format("add-k[{:.2f}]", options_.smooth_value);
      case BleuSmoothing::none: return "none";
      default: return "exp";
    }
  };
  return fmt::format("case:{}|eff:{}|tok:{}|smooth:{}", options_.lowercase ? "lc" : "mixed",
                     options_.effective_order ? "yes" : "no", name_of(options_.tokenizer),
                     smoothing());
}

}  // namespace

std::unique_ptr<const Metric> make_bleu(const MetricOptions& options) {
  return std::make_unique<BleuMetric>(options);
}

}  // namespace skein::text
