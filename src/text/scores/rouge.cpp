#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "grams.h"
#include "lcs.h"
#include "make_metrics.h"
#include "means.h"
#include "porter.h"
#include "python_text.h"

namespace skein::text {
namespace {

constexpr std::array<const char*, 4> kKinds{"rouge1", "rouge2", "rougeL", "rougeLsum"};
constexpr size_t kParts = 3;         // of a kind: F, precision, recall
constexpr size_t kLongestWhole = 3;  // words up to this length are not stemmed

struct RougeScore {
  double f = 0, precision = 0, recall = 0;
};
using RougeScores = std::array<RougeScore, kKinds.size()>;

// Of nothing: 0.
RougeScore score_of(int64_t hits, int64_t of_hypothesis, int64_t of_reference) {
  RougeScore score;
  score.precision = double(hits) / double(std::max<int64_t>(of_hypothesis, 1));
  score.recall = double(hits) / double(std::max<int64_t>(of_reference, 1));
  const double sum = score.precision + score.recall;
  score.f = sum > 0 ? 2 * score.precision * score.recall / sum : 0;
  return score;
}

bool within_word(char byte) { return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9'); }

// Runs of a to z and 0 to 9 in lower case.
std::vector<std::string> words_of(std::string_view text, bool stemmer) {
  const std::string lower = python_lower(text);
  std::vector<std::string> words;
  for (auto at = lower.begin(); at != lower.end();) {
    const auto begin = std::find_if(at, lower.end(), within_word);
    at = std::find_if_not(begin, lower.end(), within_word);
    if (begin == at) continue;
    std::string word(begin, at);
    if (stemmer && word.size() > kLongestWhole) word = porter_stem(std::move(word));
    words.push_back(std::move(word));
  }
  return words;
}

// A text as numbers of its words, and line by line.
struct Summary {
  Symbols words;
  std::vector<Symbols> lines;
};

// Numbers for the words of several texts.
class Reader {
 public:
  explicit Reader(bool stemmer) : stemmer_(stemmer) {}

  Summary read(std::string_view text) {
    Summary made;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      if (end > 0) {
        made.lines.push_back(numbered(words_of(text.substr(0, end), stemmer_)));
        made.words.insert(made.words.end(), made.lines.back().begin(), made.lines.back().end());
      }
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return made;
  }
  size_t distinct() const { return numbers_.size(); }

 private:
  Symbols numbered(const std::vector<std::string>& words) {
    Symbols made;
    for (const std::string& word : words)
      made.push_back(numbers_.try_emplace(word, numbers_.size()).first->second);
    return made;
  }

  bool stemmer_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

// ROUGE-N for n of 1 and 2.
void score_grams(const Summary& hypothesis, const Summary& reference, RougeScores& scores) {
  Grams grams({hypothesis.words, reference.words});
  for (size_t n = 0; n < 2; ++n) {
    if (n > 0) grams.lengthen();
    scores[n] = score_of(common(grams.counts(0), grams.counts(1)), std::ssize(grams.of(0)),
                         std::ssize(grams.of(1)));
  }
}

// Which places of `line` are in a longest common subsequence with any line of `others`.
std::vector<bool> in_union(const Symbols& line, const std::vector<Symbols>& others) {
  std::vector<bool> in(line.size());
  for (const Symbols& other : others)
    for (const int64_t place : lcs_places(line, other)) in[place] = true;
  return in;
}

// Section 3.2 of the paper; as in its program, a word of either side counts but once.
RougeScore score_lines(const Summary& hypothesis, const Summary& reference, size_t distinct) {
  std::vector<int64_t> left_there(distinct), left_here(distinct);
  for (const uint32_t word : hypothesis.words) ++left_there[word];
  for (const uint32_t word : reference.words) ++left_here[word];
  int64_t hits = 0;
  for (const Symbols& line : reference.lines) {
    const std::vector<bool> in = in_union(line, hypothesis.lines);
    for (size_t i = 0; i < line.size(); ++i) {
      if (!in[i] || left_there[line[i]] == 0 || left_here[line[i]] == 0) continue;
      ++hits;
      --left_there[line[i]];
      --left_here[line[i]];
    }
  }
  return score_of(hits, std::ssize(hypothesis.words), std::ssize(reference.words));
}

RougeScores scores_of(const Summary& hypothesis, const Summary& reference, size_t distinct) {
  RougeScores scores;
  score_grams(hypothesis, reference, scores);
  scores[2] = score_of(lcs_length(reference.words, hypothesis.words), std::ssize(hypothesis.words),
                       std::ssize(reference.words));
  scores[3] = score_lines(hypothesis, reference, distinct);
  return scores;
}

class RougeMetric final : public Metric {
 public:
  explicit RougeMetric(bool stemmer) : stemmer_(stemmer) {}

  std::string name() const override { return "ROUGE"; }
  int64_t width() const override { return 1 + kKinds.size() * kParts * kShareNumbers; }
  MetricValues values(std::span<const int64_t> sums) const override;

 private:
  void count(std::string_view hypothesis, std::span<const std::string> references,
             std::span<int64_t> sums) const override;
  std::string settings() const override {
    return fmt::format("case:lc|stem:{}|mean:samples", stemmer_ ? "porter" : "no");
  }

  bool stemmer_;
};

// Of each kind the first of the references with the best F.
void RougeMetric::count(std::string_view hypothesis, std::span<const std::string> references,
                        std::span<int64_t> sums) const {
  Reader reader(stemmer_);
  const Summary said = reader.read(hypothesis);
  RougeScores best{};
  for (size_t r = 0; r < references.size(); ++r) {
    const Summary wanted = reader.read(references[r]);
    const RougeScores scores = scores_of(said, wanted, reader.distinct());
    for (size_t k = 0; k < scores.size(); ++k)
      if (r == 0 || scores[k].f > best[k].f) best[k] = scores[k];
  }
  ++sums[0];
  std::span<int64_t> rest = sums.subspan(1);
  for (const RougeScore& score : best) {
    for (const double part : {score.f, score.precision, score.recall}) {
      add_share(part, rest);
      rest = rest.subspan(kShareNumbers);
    }
  }
}

MetricValues RougeMetric::values(std::span<const int64_t> sums) const {
  MetricValues values;
  std::span<const int64_t> rest = sums.subspan(1);
  const auto next = [&] {
    const double mean = mean_share(rest, sums[0]);
    rest = rest.subspan(kShareNumbers);
    return mean;
  };
  for (const std::string kind : kKinds) {
    values.scores.emplace_back(kind, next());
    values.details.emplace_back(kind + "_precision", next());
    values.details.emplace_back(kind + "_recall", next());
  }
  return values;
}

}  // namespace

std::unique_ptr<const Metric> make_rouge(const MetricOptions& options) {
  return std::make_unique<RougeMetric>(options.stemmer);
}

}  // namespace skein::text
