#include <algorithm>
#include <iterator>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"
#include "skein/train/tasks/adapting.h"
#include "skein/train/tasks/decoded_texts.h"
#include "skein/train/tasks/seq2seq.h"
#include "skein/train/tasks/smoothed_loss.h"

namespace skein::train {
namespace {

constexpr char kLoss[] = "loss";
constexpr int64_t kDecodedPairs = 200;

// Settled: nothing of it is open.
Seq2seqConfig settled(const Seq2seqConfig& given) {
  static const std::vector<std::string> known{kLoss, "bleu", "chrf", "rougeL", "exact_match", "f1"};
  Seq2seqConfig c = given;
  if (c.metric == "auto") c.metric = kLoss;
  require(std::ranges::find(known, c.metric) != known.end(),
          "task.metric={} does not measure task.kind=seq2seq; use one of {}", c.metric,
          fmt::join(known, ", "));
  require(c.decoded >= -1, "validation.decode={} must be 0 or more, or -1", c.decoded);
  if (c.decoded == -1) c.decoded = c.metric == kLoss ? 0 : kDecodedPairs;
  require(c.metric == kLoss || c.decoded > 0,
          "task.metric={} is of decoded texts, but validation.decode=0 decodes none; give "
          "validation.decode={}, or task.metric=loss",
          c.metric, kDecodedPairs);
  check(c.beam);
  require(c.beam.best == 1, "beam.best={} is for `skein generate`; one answer is scored here",
          c.beam.best);
  return c;
}

// As checkpoints keep it: all that says which tokens a pair becomes.
std::map<std::string, std::string> kept_options(const PairReading& reading) {
  PairReading copy = reading;
  auto kept = bound_values([&](Options& own) {
    bind(own, copy.pairs);
    bind(own, copy.sides);
  });
  for (const char* key :
       {"task.references", "task.format", "task.header", "task.start", "data.bad_records"})
    kept.erase(key);
  return kept;
}

class Seq2seqTask : public Task {
 public:
  Seq2seqTask(const PretrainConfig& run, const Seq2seqConfig& config, PairReading reading,
              bool adapts);

  const data::TwoSidedSamples& samples() const override { return training_; }
  int64_t length() const override {
    return reading_.sides.source_length + reading_.sides.target_length;
  }
  text::StoredTokenizer tokenizer() const override { return target_; }
  std::unique_ptr<Objective> objective(const LocalModel& model) const override {
    return token_objective(model, loss_);
  }
  std::vector<Term> terms() const override { return token_terms(loss_); }
  void order_by(const BatchPlan& plan, int64_t first) override;
  std::vector<data::DataFile> data_files() const override { return files_; }
  bool validates() const override { return held_out_ != nullptr; }
  Scores validate(const EvaluatedModel& model) const override;
  TaskNotes notes() const override { return to_notes(pair_notes()); }
  void check_notes(const TaskNotes& notes, const std::string& origin) const override;
  bool adapts() const override { return adapts_; }

 private:
  PairNotes pair_notes() const;
  void add_decoded(const EvaluatedModel& model, Scores& scores) const;

  Seq2seqConfig config_;
  PairReading reading_;
  bool adapts_;
  ModelConfig model_;
  LossConfig loss_;
  text::StoredTokenizer source_, target_;
  data::PairBlend blend_;
  data::TwoSidedSamples training_;
  std::unique_ptr<HeldOutPairs> held_out_;
  std::vector<data::DataFile> files_;
};

data::PairBlend training_blend(const PretrainConfig& run, const PairReading& reading) {
  data::PairsConfig pairs = reading.pairs;
  pairs.references.clear();  // one target is learnt
  return open_pairs(run.data.train, pairs, reading.tokenizers);
}

Seq2seqTask::Seq2seqTask(const PretrainConfig& run, const Seq2seqConfig& config,
                         PairReading reading, bool adapts)
    : config_(config),
      reading_(std::move(reading)),
      adapts_(adapts),
      model_(run.model),
      loss_(run.loss),
      source_(reading_.tokenizers.source),
      target_(reading_.tokenizers.target),
      blend_(training_blend(run, reading_)),
      training_(training_pairs(blend_, reading_, run.train.seed, run.data.shuffle)) {
  files_ = pair_files("data.train", blend_);
  if (run.data.validation.empty()) return;
  held_out_ = std::make_unique<HeldOutPairs>(run.data.validation, reading_);
  std::ranges::move(held_out_->files("data.validation"), std::back_inserter(files_));
}

// A group holds the samples that it would hold unsorted, so groups may change where one ends.
void Seq2seqTask::order_by(const BatchPlan& plan, int64_t first) {
  const int64_t group = plan.global_batch / plan.groups;
  require(first % group == 0,
          "the run has learnt {} samples, no multiple of the {} that are now sorted by length "
          "together (train.global_batch / parallel.reduction_groups), so that some would come "
          "twice or not at all; give the train.global_batch that it had, or another run.dir",
          first, group);
  training_.sort_by(group);
}

Scores Seq2seqTask::validate(const EvaluatedModel& model) const {
  const TokenScores found = held_out_->scores(model, model_.vocab_size);
  Scores scores{found.text("target tokens"), found.values(), -found.loss()};
  if (config_.decoded > 0) add_decoded(model, scores);
  return scores;
}

void Seq2seqTask::add_decoded(const EvaluatedModel& model, Scores& scores) const {
  const WantedTexts wanted = held_out_->texts(config_.decoded);
  const TextScores found =
      score_texts(decoded_texts(model, model_, reading_, wanted, {.beam = config_.beam}), wanted,
                  training_metrics());
  scores.text += fmt::format("; {} decoded: {}", wanted.prompts.size(), found.text());
  std::ranges::copy(found.values, std::back_inserter(scores.values));
  if (config_.metric != kLoss) scores.quality = value_named(found.values, config_.metric);
}

PairNotes Seq2seqTask::pair_notes() const {
  PairNotes notes{.task = kPairTask,
                  .start = spelling(*target_, reading_.form.start),
                  .options = kept_options(reading_),
                  .metric = config_.metric};
  if (!same_tokenizer(source_, target_)) notes.source_tokenizer = source_;
  return notes;
}

void Seq2seqTask::check_notes(const TaskNotes& notes, const std::string& origin) const {
  const PairNotes before = train::pair_notes(notes, origin), now = pair_notes();
  require_run_of("sequence to sequence", before.task == kPairTask, origin);
  for (const auto& [key, value] : now.options)
    require_unchanged(key, before.option(key), value, origin);
  require_unchanged("task.start", before.start, now.start, origin);
  require(same_tokenizer(before.source_tokenizer, now.source_tokenizer),
          "{} was trained with another tokenizer of sources; give the same, or another run.dir to "
          "begin anew",
          origin);
  if (before.metric != now.metric)
    log::warn(
        "{} compared validations by task.metric={}, now it is {}: which one is best is judged by "
        "both",
        origin, before.metric, now.metric);
}

// A model that begins with start values gets the vocabularies of the tokenizers.
void begin_vocabularies(ModelConfig& model, const data::PairTokenizers& tokenizers) {
  if (model.vocab_size == 0) model.vocab_size = tokenizers.target->vocab_size();
  if (!same_tokenizer(text::StoredTokenizer(tokenizers.source),
                      text::StoredTokenizer(tokenizers.target)))
    model.architecture->give_source_ids(model, tokenizers.source->vocab_size());
}

}  // namespace

std::unique_ptr<Task> seq2seq_task(PretrainConfig& run, const Seq2seqConfig& config,
                                   const data::PairTokenizers& tokenizers, bool adapts) {
  require(!run.data.train.empty(), "data.train names no pairs; give a file or a store of them");
  require(run.model.head == Head::vocabulary,
          "task.kind=seq2seq learns tokens: model.head must be vocabulary");
  if (!adapts) begin_vocabularies(run.model, tokenizers);
  const Seq2seqConfig all = settled(config);
  auto task = std::make_unique<Seq2seqTask>(
      run, all, pair_reading(run.model, all.pairs, tokenizers, all.sides, run.parallel), adapts);
  fill_in_finetuning(run, all.epochs, task->samples().samples_per_epoch());
  return task;
}

}  // namespace skein::train
