// Sequence to sequence: a model that reads a source learns the target that belongs to it, such as
// its translation, its summary or the answer to it. From start values (`skein pretrain`), or from
// another task's model (`skein finetune`).
#pragma once

#include <memory>
#include <string>

#include "skein/data/corpus/encode_pairs.h"
#include "skein/data/samples/two_sided_samples.h"
#include "skein/generate/beam_search.h"
#include "skein/train/config.h"
#include "skein/train/task.h"
#include "skein/train/tasks/pair_notes.h"

namespace skein::train {

struct Seq2seqConfig {
  data::PairsConfig pairs;     // columns and prefix; files: not used
  data::TwoSidedConfig sides;  // lengths of 0: those of the model, at most 128
  // what the best validation is found by: loss, or a score of decoded texts (bleu, chrf, rougeL,
  // exact_match, f1); auto: loss
  std::string metric = "auto";
  // pairs that each validation decodes, evenly spread; 0: none; -1: 200 where the metric is of
  // decoded texts, else none
  int64_t decoded = -1;
  generate::BeamConfig beam;  // how; without beams the likeliest token is taken each time
  double epochs = 3;          // where train.steps is 0
};

// Binds every field: sections "task" and "beam", data.bad_records and validation.decode.
void bind(Options& options, Seq2seqConfig& config);
// The same but for the columns (data::bind_beside_columns), task.metric and task.epochs, for who
// binds these to what also learns labels.
void bind_beside_labels(Options& options, Seq2seqConfig& config);
// A usage error for an option of these alone that is not as it begins. why: "is for ..., but ...".
void refuse_pair_options(const Options& options, const std::string& why);

// Makes the task for the model that run.model describes. Reads data.train and data.validation:
// "path" or "weight:path" each, files or stores of pairs. Fills in what the data say,
// run.model.vocab_size among it, and what is left open (adapting_defaults). adapts: the run begins
// with a checkpoint's weights, not from start values. Usage errors for data and options that do not
// fit the model, and as pair_reading.
std::unique_ptr<Task> seq2seq_task(PretrainConfig& run, const Seq2seqConfig& config,
                                   const data::PairTokenizers& tokenizers, bool adapts = false);

}  // namespace skein::train
