#include "skein/train/tasks/finetune.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/options/options.h"
#include "skein/models/architecture.h"
#include "skein/train/tasks/image_task.h"
#include "skein/train/tasks/pair_data.h"

namespace skein::train {

FinetuneConfig finetune_defaults() {
  FinetuneConfig c;
  c.run = adapting_defaults({"runs/finetune", 16, 5e-5});
  c.run.model.dropout = 0.1;
  c.run.optimizer.adamw.beta2 = 0.999;
  c.run.optimizer.weight_decay = 0.01;
  return c;
}

namespace {

std::vector<std::pair<std::string, std::optional<LabelKind>>> task_kinds() {
  std::vector<std::pair<std::string, std::optional<LabelKind>>> kinds;
  for (const auto& [name, kind] : label_kinds()) kinds.emplace_back(name, kind);
  kinds.emplace_back(kPairTask, std::nullopt);
  return kinds;
}

void bind_task(Options& options, FinetuneConfig& c) {
  options.add_choice(
      "task.kind", c.kind, task_kinds(),
      "a label for a text or a pair of texts, a number for it, or a tag for each word (CoNLL "
      "files); seq2seq: the target of each source, which a model learns that reads sources");
  bind(options, c.task.columns);
  options.add("task.labels", c.task.labels,
              "labels in the order of their ids; empty: those of data.train");
  options.add("task.metric", c.metric,
              "of the validation, by which the best is kept: accuracy, macro_f1, matthews; "
              "spearman, pearson, mse for numbers; f1 for tags; for seq2seq loss, or of decoded "
              "texts bleu, chrf, rougeL, exact_match, f1; auto: the first of these");
  options.add("task.length", c.task.length,
              "longest sample, what is longer loses its end; 0: model.context, at most 128",
              "tokens");
  options.add("task.separator", c.task.separator,
              "decoders: what stands between the texts of a pair");
  options.add("task.epochs", c.task.epochs, "passes over data.train, where train.steps is 0");
  bind_beside_labels(options, c.seq2seq);
  bind(options, c.augment);
}

LabelMetric label_metric(const std::string& name, LabelKind kind) {
  const auto& known = label_metrics();
  const auto found = std::ranges::find(known, name, &std::pair<std::string, LabelMetric>::first);
  require(found != known.end(), "task.metric={} does not measure task.kind={}", name,
          name_of(kind));
  return metric_of(kind, found->second);
}

void refuse_label_options(const Options& options) {
  for (const char* key : {"task.pair", "task.labels", "task.length", "task.separator",
                          "task.word_column", "task.tag_column"})
    require(!options.changed(key),
            "{} is for labels, but task.kind is seq2seq{}; leave it out, or give another task.kind",
            key,
            std::string(key) == "task.length"
                ? ", whose lengths are task.source_length and task.target_length"
                : "");
}

}  // namespace

void bind(Options& options, FinetuneConfig& c) {
  bind_task(options, c);
  options.add("data.train", c.run.data.train,
              "files of examples to learn: .csv, .tsv, .jsonl, or CoNLL columns; seq2seq: files or "
              "stores of pairs, each PATH or WEIGHT:PATH; for a model of pictures or graphs stores "
              "of them");
  options.add("data.validation", c.run.data.validation, "the same, to evaluate on");
  bind(options, c.run.loss);
  bind_adapting(options, c.run);
}

// A store says all.
void refuse_texts(const Options& options, const FinetuneConfig& c) {
  const std::string_view reads = name_of(c.run.model.architecture->reads());
  require(c.kind == LabelKind::classify,
          "task.kind must be classify for a model that reads {}; leave it out", reads);
  const std::string why = fmt::format("is for texts, but the model reads {}; leave it out", reads);
  refuse_options_of<LabelColumns>(options, why);
  for (const char* key : {"task.labels", "task.length", "task.separator"})
    require(!options.changed(key), "{} {}", key, why);
}

void settle(const Options& options, FinetuneConfig& c) {
  if (c.kind) {
    const std::string why = fmt::format("is for seq2seq, but task.kind is {}", name_of(*c.kind));
    refuse_pair_options(options, why);
    require(*c.kind != LabelKind::regress || c.run.loss.label_smoothing == 0,
            "loss.label_smoothing={} is for classes and tokens, but task.kind=regress learns "
            "numbers; leave it out",
            c.run.loss.label_smoothing);
    c.task.kind = *c.kind;
    c.task.metric = label_metric(c.metric, *c.kind);
    return;
  }
  refuse_label_options(options);
  c.seq2seq.pairs = with_columns(c.seq2seq.pairs, c.task.columns);
  c.seq2seq.metric = c.metric;
  c.seq2seq.epochs = c.task.epochs;
}

std::unique_ptr<Task> finetune_task(const Options& options, FinetuneConfig& config,
                                    const TrainedModel& source) {
  if (config.run.model.architecture->reads() == Reads::pictures) {
    refuse_texts(options, config);
    return finetuned_image_task(config, source);
  }
  refuse_augmentation(options, *config.run.model.architecture);
  if (config.kind) return label_task(config, source.state.tokenizer.value());
  Seq2seqConfig& c = config.seq2seq;
  const data::PairTokenizers tokenizers = pair_tokenizers(source);
  if (source.model.architecture->maps_source(source.model))  // others are refused by their name
    c.sides.start = decoder_start(source, c.sides.start, "task.start");
  return seq2seq_task(config.run, c, tokenizers, true);
}

}  // namespace skein::train
