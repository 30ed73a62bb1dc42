#include <algorithm>
#include <fmt/format.h>

#include "grams.h"
#include "make_metrics.h"
#include "python_text.h"
#include "text/split/unicode.h"

namespace skein::text {
namespace {

// Of an order: n-grams of the hypothesis, of the reference, and those in both.
constexpr size_t kNumbers = 3;
constexpr double kEpsilon = 1e-16;

// Words with a sign at the end or else at the beginning as a word of its own.
std::vector<std::string_view> words_and_signs(std::string_view text) {
  std::vector<std::string_view> made;
  for (const std::string_view word : python_split(text)) {
    const size_t rest = word.size() - 1;
    if (character_at(word, 0).bytes == word.size())
      made.push_back(word);
    else if (python_punctuation(word.back()))
      made.insert(made.end(), {word.substr(0, rest), word.substr(rest)});
    else if (python_punctuation(word.front()))
      made.insert(made.end(), {word.substr(0, 1), word.substr(1)});
    else
      made.push_back(word);
  }
  return made;
}

class ChrfMetric final : public Metric {
 public:
  explicit ChrfMetric(const MetricOptions& options) : options_(options) {}

  int64_t width() const override { return kNumbers * orders(); }
  MetricValues values(std::span<const int64_t> sums) const override;
  std::string name() const override {
    return fmt::format("chrF{}{}", options_.beta, std::string(options_.word_order, '+'));
  }

 private:
  using Counted = std::vector<int64_t>;

  size_t orders() const { return options_.char_order + options_.word_order; }
  void count(std::string_view hypothesis, std::span<const std::string> references,
             std::span<int64_t> sums) const override;
  std::string settings() const override;
  Symbols characters(std::string_view text) const;
  static void count_orders(std::vector<Symbols> sequences, int orders, size_t first,
                           std::vector<Counted>& counted);
  double f_score(std::span<const int64_t> sums) const;

  MetricOptions options_;
};

Symbols ChrfMetric::characters(std::string_view text) const {
  Symbols made;
  for (const int32_t point : points_of(text))
    if (options_.whitespace || !python_space(point)) made.push_back(point);
  return made;
}

// Of the first sequence against each other one, whose numbers stand in `counted` from the order
// `first` on. Without any n-gram in the reference those of the hypothesis do not count.
void ChrfMetric::count_orders(std::vector<Symbols> sequences, int orders, size_t first,
                              std::vector<Counted>& counted) {
  const size_t others = sequences.size() - 1;
  Grams grams(std::move(sequences));
  for (int n = 0; n < orders; ++n) {
    if (n > 0) grams.lengthen();
    const std::vector<int64_t> counts = grams.counts(0);
    for (size_t r = 1; r <= others; ++r) {
      int64_t* const numbers = counted[r - 1].data() + kNumbers * (first + n);
      numbers[1] = std::ssize(grams.of(r));
      numbers[0] = numbers[1] > 0 ? std::ssize(grams.of(0)) : 0;
      numbers[2] = common(counts, grams.counts(r));
    }
  }
}

void ChrfMetric::count(std::string_view hypothesis, std::span<const std::string> references,
                       std::span<int64_t> sums) const {
  std::vector<std::string> texts{std::string(hypothesis)};
  texts.insert(texts.end(), references.begin(), references.end());
  if (options_.lowercase)
    for (std::string& text : texts) text = python_lower(text);
  std::vector<Symbols> letters, words;
  WordNumbers numbers;
  for (const std::string& text : texts) {
    letters.push_back(characters(text));
    if (options_.word_order > 0) words.push_back(numbers.of(words_and_signs(text)));
  }
  std::vector<Counted> counted(references.size(), Counted(width()));
  count_orders(std::move(letters), options_.char_order, 0, counted);
  if (options_.word_order > 0)
    count_orders(std::move(words), options_.word_order, options_.char_order, counted);
  // The first of the references with the best score.
  size_t best = 0;
  for (size_t r = 1; r < counted.size(); ++r)
    if (f_score(counted[r]) > f_score(counted[best])) best = r;
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += counted[best][i];
}

double ChrfMetric::f_score(std::span<const int64_t> sums) const {
  const double factor = double(options_.beta) * options_.beta;
  double smoothed = 0, precisions = 0, recalls = 0;
  int64_t effective = 0;
  for (size_t i = 0; i < orders(); ++i) {
    const double of_hypothesis = sums[kNumbers * i], of_reference = sums[kNumbers * i + 1];
    const double matches = sums[kNumbers * i + 2];
    const double precision = of_hypothesis > 0 ? matches / of_hypothesis : kEpsilon;
    const double recall = of_reference > 0 ? matches / of_reference : kEpsilon;
    const double below = factor * precision + recall;
    smoothed += below > 0 ? (1 + factor) * precision * recall / below : kEpsilon;
    if (of_hypothesis == 0 || of_reference == 0) continue;
    precisions += precision;
    recalls += recall;
    ++effective;
  }
  if (options_.eps_smoothing) return 100 * smoothed / orders();
  if (precisions + recalls == 0) return 0;
  const double precision = precisions / effective, recall = recalls / effective;
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

MetricValues ChrfMetric::values(std::span<const int64_t> sums) const {
  return {{{"chrf", f_score(sums)}}, {}};
}

std::string ChrfMetric::settings() const {
  return fmt::format("case:{}|eff:{}|nc:{}|nw:{}|space:{}", options_.lowercase ? "lc" : "mixed",
                     options_.eps_smoothing ? "no" : "yes", options_.char_order,
                     options_.word_order, options_.whitespace ? "yes" : "no");
}

}  // namespace

std::unique_ptr<const Metric> make_chrf(const MetricOptions& options) {
  return std::make_unique<ChrfMetric>(options);
}

}  // namespace skein::text
