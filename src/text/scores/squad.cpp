#include <algorithm>
#include <fmt/format.h>

#include "grams.h"
#include "make_metrics.h"
#include "means.h"
#include "python_text.h"
#include "text/split/unicode.h"

namespace skein::text {
namespace {

bool article(std::string_view word) { return word == "a" || word == "an" || word == "the"; }

// With a blank for each run of letters and numbers that is an article. No "_" is left here.
std::string without_articles(std::string_view text) {
  std::string made;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    bool within = true;
    while (end < text.size() && within) {
      const Character next = character_at(text, end);
      within = python_alphanumeric(next.point);
      if (within || end == at) end += next.bytes;
    }
    const std::string_view piece = text.substr(at, end - at);
    if (article(piece))
      made.push_back(' ');
    else
      made.append(piece);
    at = end;
  }
  return made;
}

// SQuAD's normalize_answer: lower case, without ASCII's signs, then without articles. Its words.
std::vector<std::string> answer_words(std::string_view text) {
  std::string lower = python_lower(text);
  std::erase_if(lower, python_punctuation);
  const std::string rest = without_articles(lower);
  std::vector<std::string> words;
  for (const std::string_view word : python_split(rest)) words.emplace_back(word);
  return words;
}

using Words = std::vector<std::string>;

double exact(const Words& hypothesis, const Words& answer) { return hypothesis == answer ? 1 : 0; }

double f1(const Words& hypothesis, const Words& answer) {
  WordNumbers numbers;
  const auto symbols = [&](const Words& words) {
    return numbers.of(std::vector<std::string_view>(words.begin(), words.end()));
  };
  std::vector<Symbols> sequences{symbols(hypothesis), symbols(answer)};
  const Grams grams(std::move(sequences));
  const auto same = double(common(grams.counts(0), grams.counts(1)));
  if (same == 0) return 0;
  const double precision = same / double(hypothesis.size()), recall = same / double(answer.size());
  return 2 * precision * recall / (precision + recall);
}

// The mean over samples of the best answer's share.
class AnswerMetric final : public Metric {
 public:
  using Share = double (*)(const Words&, const Words&);

  AnswerMetric(std::string name, Share share, SquadVersion squad)
      : name_(std::move(name)), share_(share), squad_(squad) {}

  std::string name() const override { return name_ == "f1" ? "F1" : "EM"; }
  int64_t width() const override { return 1 + kShareNumbers; }
  MetricValues values(std::span<const int64_t> sums) const override {
    return {{{name_, mean_share(sums.subspan(1), sums[0])}}, {}};
  }

 private:
  void count(std::string_view hypothesis, std::span<const std::string> references,
             std::span<int64_t> sums) const override;
  std::string settings() const override {
    return fmt::format("norm:squad-{}|mean:samples", squad_ == SquadVersion::v1 ? "1.1" : "2.0");
  }
  double share(const Words& hypothesis, const Words& answer) const {
    const bool nothing = hypothesis.empty() || answer.empty();
    return nothing && squad_ == SquadVersion::v2 ? exact(hypothesis, answer)
                                                 : share_(hypothesis, answer);
  }

  std::string name_;
  Share share_;
  SquadVersion squad_;
};

void AnswerMetric::count(std::string_view hypothesis, std::span<const std::string> references,
                         std::span<int64_t> sums) const {
  const Words said = answer_words(hypothesis);
  std::vector<Words> answers;
  for (const std::string& reference : references) answers.push_back(answer_words(reference));
  // In 2.0 an answer without words stands for "there is none", where it stands alone.
  const bool any = std::ranges::any_of(answers, [](const Words& a) { return !a.empty(); });
  double best = 0;
  for (const Words& answer : answers)
    if (squad_ == SquadVersion::v1 || !any || !answer.empty())
      best = std::max(best, share(said, answer));
  ++sums[0];
  add_share(best, sums.subspan(1));
}

}  // namespace

std::unique_ptr<const Metric> make_exact_match(const MetricOptions& options) {
  return std::make_unique<AnswerMetric>("exact_match", exact, options.squad);
}

std::unique_ptr<const Metric> make_f1(const MetricOptions& options) {
  return std::make_unique<AnswerMetric>("f1", f1, options.squad);
}

}  // namespace skein::text
