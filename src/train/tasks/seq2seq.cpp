#include "skein/train/tasks/seq2seq.h"

#include "skein/core/error.h"
#include "skein/core/options/options.h"

namespace skein::train {
namespace {

void bind_decoding(Options& options, Seq2seqConfig& c) {
  options.add("validation.decode", c.decoded,
              "seq2seq: held-out pairs that each evaluation decodes and scores (BLEU, chrF, ROUGE, "
              "exact match, F1), evenly spread; 0: none; -1: 200 where task.metric needs them",
              "pairs");
  bind(options, c.beam);
}

}  // namespace

void bind(Options& options, Seq2seqConfig& c) {
  bind(options, c.pairs);
  bind(options, c.sides);
  options.add("task.metric", c.metric,
              "seq2seq: what the best evaluation is found by: loss, or of decoded texts bleu, "
              "chrf, rougeL, exact_match, f1; auto: loss");
  options.add("task.epochs", c.epochs, "seq2seq: passes over data.train, where train.steps is 0");
  bind_decoding(options, c);
}

void bind_beside_labels(Options& options, Seq2seqConfig& c) {
  bind_beside_columns(options, c.pairs);
  bind_bad_records(options, c.pairs);
  bind(options, c.sides);
  bind_decoding(options, c);
}

void refuse_pair_options(const Options& options, const std::string& why) {
  Seq2seqConfig config;
  refuse_changed(
      options, [&](Options& own) { bind_beside_labels(own, config); },
      why + "; leave it out, or give task.kind=seq2seq");
}

}  // namespace skein::train
