#include "skein/train/evaluations/evaluate_pairs.h"

#include <optional>

#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/files/result_file.h"
#include "skein/core/log.h"
#include "skein/train/taken_over.h"
#include "skein/train/tasks/pair_notes.h"
#include "skein/train/trained_model.h"

namespace skein::train {
namespace {

// What stays as it was in training; how long sides are dropped and rows packed concerns only that.
std::map<std::string, std::string> trained_with(const TrainedModel& source,
                                                const data::TwoSidedConfig& asked) {
  const PairNotes notes = pair_notes(source.state.notes, source.info.path);
  std::map<std::string, std::string> values;
  for (const char* key :
       {"task.text", "task.label", "task.prefix", "task.source_length", "task.target_length"})
    if (notes.options.contains(key)) values[key] = notes.options.at(key);
  const std::string start = decoder_start(source, asked.start, "task.start");
  if (!start.empty()) values["task.start"] = start;
  return values;
}

void check(const PairEvalConfig& c) {
  for (const std::string& name : c.metrics) text::make_metric(name, c.scores);
  check(c.beam);
  require(c.beam.best == 1, "beam.best={} is for `skein generate`; one answer is scored here",
          c.beam.best);
  require(!c.metrics.empty() || c.texts.empty(),
          "eval.texts={} is for what the model writes, but score.metrics is empty, so that nothing "
          "is decoded; name a metric",
          c.texts);
}

// Decodes all pairs, adds their scores to the result and writes them.
void add_decoded(const PairEvaluation& asked, const EvaluatedModel& model,
                 const PairReading& reading, const HeldOutPairs& pairs, PairResult& into) {
  const PairEvalConfig& c = asked.config;
  std::optional<ResultFile> file;  // before the work, so that its result is not lost
  Group& world = model.mesh.world();
  checkpoint::agree(world, [&] {
    if (world.rank() == 0 && !c.texts.empty()) file.emplace("eval.texts", c.texts);
  });
  const WantedTexts wanted = pairs.texts(0);
  const auto texts = decoded_texts(model, asked.source.model, reading, wanted,
                                   {.beam = c.beam, .batch = asked.batch});
  const TextScores scores = score_texts(texts, wanted, c.metrics, c.scores);
  for (const auto& value : scores.values) into.values.push_back(value);
  into.signatures = scores.signatures;
  log::info("{}: {} pairs decoded, {}", asked.source.info.path, texts.size(), scores.text());
  for (const auto& [name, signature] : scores.signatures) log::info("{}: {}", name, signature);
  checkpoint::agree(world, [&] {
    if (!file) return;
    file->write(texts_as_jsonl(texts, wanted));
    file->finish();
  });
}

}  // namespace

void bind(Options& options, PairEvalConfig& c) {
  bind_beside_columns(options, c.pairs);
  bind(options, c.sides);
  options.add("score.metrics", c.metrics,
              "pairs: what decoded texts are scored by; empty: nothing is decoded");
  bind(options, c.scores);
  bind(options, c.beam);
  options.add("eval.texts", c.texts,
              "pairs: JSON lines file for sources, what the model writes, and references, as "
              "`skein-data score` reads them");
}

PairResult evaluate_pairs(const PairEvaluation& asked, Group& world) {
  const TrainedModel& source = asked.source;
  const data::PairTokenizers tokenizers = pair_tokenizers(source);
  take_over(asked.options, trained_with(source, asked.config.sides), source.info.path);
  check(asked.config);
  const PairReading reading =
      pair_reading(source.model, with_columns(asked.config.pairs, asked.columns), tokenizers,
                   asked.config.sides, asked.parallel);
  const HeldOutPairs pairs(asked.files, reading);
  LoadedModel loaded(source, asked.parallel, DType::f32, world);
  const EvaluatedModel model = loaded.evaluated(asked.batch);
  const TokenScores found = pairs.scores(model, source.model.vocab_size);
  log::info("{}: {}", source.info.path, found.text("target tokens"));
  PairResult result{found.values(), {}};
  result.values.emplace_back("tokens", found.tokens);
  result.values.emplace_back("pairs", pairs.count());
  if (!asked.config.metrics.empty()) add_decoded(asked, model, reading, pairs, result);
  return result;
}

}  // namespace skein::train
