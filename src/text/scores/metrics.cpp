#include "skein/text/scores/metrics.h"

#include "skein/core/error.h"
#include "skein/core/strings.h"

#include "make_metrics.h"

namespace skein::text {
namespace {

// Orders beyond this are no words and no characters of any text.
constexpr int kMostOrder = 100;

void check(const MetricOptions& o) {
  const bool valued = o.smoothing == BleuSmoothing::floor || o.smoothing == BleuSmoothing::add_k;
  require(o.smooth_value == -1 || valued,
          "score.smooth_value={} is for score.smoothing=floor and add-k; leave it out",
          o.smooth_value);
  require(o.smooth_value == -1 || (o.smooth_value > 0 && o.smooth_value <= 1e6),
          "score.smooth_value={} must be above 0 and at most 1e6 (-1: 0.1 for floor, 1 for add-k)",
          o.smooth_value);
  require(o.beta >= 1 && o.beta <= 1000, "score.beta={} must be from 1 to 1000", o.beta);
  require(o.char_order >= 1 && o.char_order <= kMostOrder,
          "score.char_order={} must be from 1 to {}", o.char_order, kMostOrder);
  require(o.word_order >= 0 && o.word_order <= kMostOrder,
          "score.word_order={} must be from 0 to {}", o.word_order, kMostOrder);
}

}  // namespace

void bind(Options& options, MetricOptions& m) {
  options.add("score.lowercase", m.lowercase, "bleu, chrf: compare lower case");
  options.add_choice("score.tokenizer", m.tokenizer,
                     {{"13a", BleuTokenizer::mteval_13a},
                      {"intl", BleuTokenizer::international},
                      {"zh", BleuTokenizer::chinese},
                      {"char", BleuTokenizer::characters},
                      {"none", BleuTokenizer::none}},
                     "bleu: what its words are, as in sacrebleu");
  options.add_choice("score.smoothing", m.smoothing,
                     {{"exp", BleuSmoothing::exponential},
                      {"floor", BleuSmoothing::floor},
                      {"add-k", BleuSmoothing::add_k},
                      {"none", BleuSmoothing::none}},
                     "bleu: of n-grams that are never right");
  options.add("score.smooth_value", m.smooth_value,
              "bleu: of floor and add-k; -1 for 0.1 and for 1");
  options.add(
      "score.effective_order", m.effective_order,
      "bleu: leave out n-grams that are longer than any hypothesis; single samples always do");
  options.add("score.beta", m.beta, "chrf: recall counts so many times as much as precision");
  options.add("score.char_order", m.char_order, "chrf: longest n-grams of characters",
              "characters");
  options.add("score.word_order", m.word_order, "chrf: longest n-grams of words; 2 for chrF++",
              "words");
  options.add("score.whitespace", m.whitespace, "chrf: white space counts among characters");
  options.add("score.eps_smoothing", m.eps_smoothing,
              "chrf: as chrF++.py, NLTK and Moses, which also count orders that no text has");
  options.add("score.stemmer", m.stemmer, "rouge: compare stems of words (Porter's)");
  options.add_choice("score.squad", m.squad, {{"1.1", SquadVersion::v1}, {"2.0", SquadVersion::v2}},
                     "exact_match, f1: by 2.0 an empty answer may be the right one");
}

std::vector<std::string> metric_names() {
  return {"bleu", "chrf", "ter", "rouge", "exact_match", "f1"};
}

std::unique_ptr<const Metric> make_metric(const std::string& name, const MetricOptions& options) {
  check(options);
  if (name == "bleu") return make_bleu(options);
  if (name == "chrf") return make_chrf(options);
  if (name == "ter") return make_ter();
  if (name == "rouge") return make_rouge(options);
  if (name == "exact_match") return make_exact_match(options);
  if (name == "f1") return make_f1(options);
  fail_usage("score.metrics: no metric \"{}\"; there are {}{}", excerpt(name),
             listed(metric_names()), did_you_mean(name, metric_names()));
}

}  // namespace skein::text
