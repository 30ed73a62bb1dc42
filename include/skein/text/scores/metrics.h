// The metrics by name, and their options.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/text/scores/metric.h"

namespace skein::text {

// sacrebleu's tokenizers: mteval's of version 13a, no more than white space, single characters,
// mteval's of version 14 for any language, and Chinese characters one by one with 13a for the rest.
enum class BleuTokenizer { mteval_13a, none, characters, international, chinese };
enum class BleuSmoothing { exponential, floor, add_k, none };
enum class SquadVersion { v1, v2 };

struct MetricOptions {
  bool lowercase = false;  // BLEU and chrF; ROUGE, SQuAD's and TER always compare lower case
  BleuTokenizer tokenizer = BleuTokenizer::mteval_13a;
  BleuSmoothing smoothing = BleuSmoothing::exponential;
  double smooth_value = -1;      // of floor and add-k; -1: 0.1 and 1
  bool effective_order = false;  // BLEU of the corpus ends at the longest n-gram there is
  int beta = 2;                  // chrF: recall counts so many times as much as precision
  int char_order = 6;
  int word_order = 0;          // 2: chrF++
  bool whitespace = false;     // chrF: white space counts among characters
  bool eps_smoothing = false;  // chrF: as chrF++.py, NLTK and Moses
  bool stemmer = false;        // ROUGE: Porter's stemmer
  // Whether an empty answer may be right: SQuAD 2.0.
  SquadVersion squad = SquadVersion::v1;
};

// Binds the fields as score.*.
void bind(Options& options, MetricOptions& metrics);

// "bleu", "chrf", "ter", "rouge", "exact_match", "f1".
std::vector<std::string> metric_names();

// A usage error naming those there are for another name, and for options that cannot be.
//
// bleu: Papineni et al., "BLEU: a method for automatic evaluation of machine translation" (2002),
//   as sacrebleu has it (Post, "A call for clarity in reporting BLEU scores", 2018). Scores: bleu.
// chrf: Popovic, "chrF: character n-gram F-score for automatic MT evaluation" (2015) and "chrF++:
//   words helping character n-grams" (2017), as sacrebleu. Scores: chrf.
// ter: Snover et al., "A study of translation edit rate with targeted human annotation" (2006), as
//   sacrebleu without its options. Scores: ter.
// rouge: Lin, "ROUGE: a package for automatic evaluation of summaries" (2004), as rouge-score. The
//   best reference counts. Scores: rouge1, rouge2, rougeL, rougeLsum, the means of F over samples;
//   Lsum takes lines for sentences.
// exact_match, f1: Rajpurkar et al., "SQuAD: 100,000+ questions for machine comprehension of text"
//   (2016), means over samples of the best answer's.
std::unique_ptr<const Metric> make_metric(const std::string& name, const MetricOptions& options);

}  // namespace skein::text
