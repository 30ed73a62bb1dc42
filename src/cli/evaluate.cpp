#include "skein/train/evaluate.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <optional>

#include "skein/checkpoint/agree.h"
#include "skein/core/files/result_file.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/core/values.h"
#include "skein/models/architecture.h"
#include "skein/rlhf/rewards/evaluate_reward.h"
#include "skein/rlhf/rewards/preference_files.h"
#include "skein/rlhf/rewards/reward_form.h"
#include "skein/train/chats/evaluate_chats.h"
#include "skein/train/evaluate_denoised.h"
#include "skein/train/evaluate_masked.h"
#include "skein/train/evaluations/evaluate_images.h"
#include "skein/train/evaluations/evaluate_labels.h"
#include "skein/train/evaluations/evaluate_pairs.h"
#include "skein/train/evaluations/evaluate_stories.h"
#include "skein/train/evaluations/finite_answers.h"
#include "skein/train/graphs/smoothing.h"
#include "skein/train/graphs/trained_graph_model.h"
#include "skein/train/taken_over.h"
#include "skein/train/tasks/pair_notes.h"
#include "skein/train/text_store.h"
#include "skein/train/trained_model.h"
#include "skein/train/vocabulary.h"

#include "command.h"

namespace skein::cli {
namespace {

struct EvaluateConfig {
  std::string checkpoint;
  std::vector<std::string> stores;
  std::string text, output;
  data::DataConfig data;
  ParallelConfig parallel;
  train::EvalConfig eval;
  train::LabelEvalConfig labels;
  train::ChatEvalConfig chats;
  train::PairEvalConfig pairs;
  rlhf::rewards::PreferenceTaskConfig preferences;
  train::GraphPartConfig graphs;
  bool smoothing = false;
  int64_t batch = 4;
};

void bind_windows(Options& options, EvaluateConfig& c) {
  options.add("data.tokenizer", c.data.tokenizer,
              "tokenizer of stores that do not name theirs (Megatron-LM, nanoGPT, llm.c)");
  options.add("data.cross_document_attention", c.data.cross_document_attention,
              "attention may cross document ends; by itself as in training");
  options.add("data.mask_document_ends", c.data.mask_document_ends,
              "the first token of the next document does not count; by itself as in training");
  options.add("eval.windows", c.eval.windows, "windows evaluated, evenly spread; 0: all",
              "windows");
  options.add("eval.stride", c.eval.stride,
              "tokens a window scores, with the rest of the context before them; 0: all, without "
              "overlap; by itself the run's validation.stride",
              "tokens");
}

void bind(Options& options, EvaluateConfig& c) {
  options.add("checkpoint.path", c.checkpoint,
              "run folder (its best weights, else its newest good checkpoint) or checkpoint");
  options.add("data.validation", c.stores, "token stores to evaluate on");
  options.add(
      "data.text", c.text,
      "text to evaluate on instead: .txt or .jsonl, plain or compressed, a folder or an archive");
  bind_windows(options, c);
  options.add("eval.batch", c.batch, "windows a forward pass", "windows");
  options.add("eval.smoothing", c.smoothing,
              "graph: also how alike the vectors of nodes are behind each layer");
  options.add("eval.output", c.output, "JSON file for the result");
  bind(options, c.labels);
  bind(options, c.chats);
  bind(options, c.pairs);
  bind_reading(options, c.preferences, "reward");
  bind(options, c.graphs);
  bind_neighbours(options, c.graphs);
  bind(options, c.parallel);
}

// Nothing for what is not known.
using MeasuredValues = std::vector<std::pair<std::string, std::optional<double>>>;

MeasuredValues known(const NamedValues& values) { return {values.begin(), values.end()}; }

struct Result {
  MeasuredValues values;
  std::vector<std::pair<std::string, std::string>> signatures = {};  // of metrics, by name
};

void write_evaluation(ResultFile& file, const train::TrainedModel& source, const Result& result) {
  nlohmann::ordered_json json{{"checkpoint", source.info.path}, {"step", source.info.step}};
  for (const auto& [name, value] : result.values)
    json[name] = value ? json_number(*value) : nullptr;
  for (const auto& [name, signature] : result.signatures) json["signatures"][name] = signature;
  file.write(json.dump(2) + "\n");
  file.finish();
}

MeasuredValues next_tokens(const train::EvaluatedModel& model, const train::TrainedModel& source,
                           const std::vector<std::string>& stores, const EvaluateConfig& config) {
  const data::Loader loader(stores, 1, 0, config.data);
  check_store(loader.store(0), source);
  train::EvalConfig windows = config.eval;
  windows.prefix = source.model.architecture->reads_prompts_both_ways(source.model);
  const train::Evaluation result =
      evaluate_windows(model, windows, loader, config.data, source.model.context);
  log::info("{}: {} ({} tokens{})", source.info.path, result.text(), result.tokens,
            result.bytes ? fmt::format(", {} bytes", result.bytes) : "");
  const auto bits = result.bytes ? std::optional(result.bits_per_byte()) : std::nullopt;
  return {{"loss", result.loss()},
          {"perplexity", result.perplexity()},
          {"bits_per_byte", bits},
          {"tokens", result.tokens},
          {"bytes", result.bytes}};
}

MeasuredValues masked_tokens(const train::EvaluatedModel& model, const train::TrainedModel& source,
                             const std::vector<std::string>& stores, const EvaluateConfig& config) {
  require(config.eval.stride == 0,
          "eval.stride is for decoders; an encoder sees each sample once, leave it out");
  const auto samples =
      train::validation_samples(stores, source.model.context, config.data, source.mlm);
  check_store(samples->store(0), source);
  const train::MaskedEvaluation result = evaluate_masked(model, *samples, config.eval.windows);
  log::info("{}: {}", source.info.path, result.text());
  MeasuredValues values = known(result.values());
  values.emplace_back("tokens", result.tokens);
  return values;
}

MeasuredValues restored_tokens(const train::EvaluatedModel& model,
                               const train::TrainedModel& source,
                               const std::vector<std::string>& stores,
                               const EvaluateConfig& config) {
  require(
      train::pair_notes(source.state.notes, source.info.path).task != train::kPairTask,
      "{} has learnt pairs of texts, not to restore noised text; evaluate it on pairs, data.test",
      source.info.path);
  require(config.eval.stride == 0,
          "eval.stride is for decoders; a model that restores text sees each sample once, leave it "
          "out");
  const auto samples = train::validation_samples(
      stores, train::denoising_rows(source.model, config.parallel), config.data, source.noise);
  check_store(samples->store(0), source);
  const train::DenoisedEvaluation result = evaluate_denoised(model, *samples, config.eval.windows);
  log::info("{}: {}", source.info.path, result.text());
  MeasuredValues values = known(result.values());
  values.emplace_back("tokens", result.all().tokens);
  return values;
}

void check(const EvaluateConfig& c) {
  const int given = !c.stores.empty() + !c.text.empty() + !c.labels.files.empty();
  require(given == 1,
          "give one of data.validation (token stores), data.text and data.test (examples with "
          "labels, pairs of texts, preferences or conversations); {}",
          given == 0 ? "none is given" : "several are given");
  require(c.text.empty() || c.data.tokenizer.empty(),
          "data.tokenizer={} is for stores, data.validation, that do not name theirs; "
          "data.text={} is encoded by the tokenizer of the model's run: leave data.tokenizer out",
          c.data.tokenizer, c.text);
  require(c.batch > 0, "eval.batch={} must be at least 1", c.batch);
}

// What a model that reads texts is evaluated on.
enum class On { text, labels, pairs, chats, preferences };

const char* name_of(On on) {
  switch (on) {
    case On::text: return "text";
    case On::labels: return "labels";
    case On::pairs: return "pairs of texts";
    case On::chats: return "conversations";
    case On::preferences: return "preferences";
  }
  return "";
}

void bind_chats(Options& options, train::ChatEvalConfig& c) {
  options.add("chat.template", c.chat.form, "");
  bind_records(options, c.chat);
  bind_rows(options, c.rows);
}

void bind_columns_of_labels(Options& options, train::LabelColumns& c) {
  options.add("task.pair", c.pair, "");
  options.add("task.word_column", c.word, "");
  options.add("task.tag_column", c.tag, "");
}

// Options that only evaluations on something else read.
void refuse_others(const Options& options, On on, const std::string& origin) {
  EvaluateConfig none;
  const auto refuse = [&](std::initializer_list<On> readers, const char* what, auto bind_own) {
    if (std::ranges::find(readers, on) != readers.end()) return;
    refuse_changed(options, bind_own,
                   fmt::format("is for {}, but {} is evaluated on {}; leave it out", what, origin,
                               name_of(on)));
  };
  refuse({On::text}, "token stores and data.text", [&](auto& own) { bind_windows(own, none); });
  refuse({On::labels}, "labels",
         [&](auto& own) { bind_columns_of_labels(own, none.labels.columns); });
  refuse({On::labels, On::pairs}, "labels and pairs of texts",
         [&](auto& own) { bind(own, none.labels.columns); });
  refuse({On::chats}, "conversations", [&](auto& own) { bind_chats(own, none.chats); });
  refuse({On::pairs}, "pairs of texts", [&](auto& own) { bind(own, none.pairs); });
  refuse({On::preferences}, "preferences",
         [&](auto& own) { bind_reading(own, none.preferences, "reward"); });
  refuse({On::pairs, On::chats, On::preferences}, "pairs of texts, conversations and preferences",
         [&](auto& own) { own.add("data.bad_records", none.preferences.bad_records, ""); });
}

MeasuredValues evaluate_text(EvaluateConfig& config, Options& options,
                             const train::TrainedModel& source, Group& world) {
  const Reads reads = source.model.architecture->reads();
  require(reads == Reads::texts, "{} reads {}; evaluate it on a store of them, data.test",
          source.info.path, name_of(reads));
  require(source.model.head == Head::vocabulary,
          "{} gives labels; evaluate it on examples with labels, data.test", source.info.path);
  refuse_others(options, On::text, source.info.path);
  take_over_text(options, source);
  std::unique_ptr<train::TextStore> encoded;
  if (!config.text.empty()) {
    require_tokenizer(source);
    // What each document begins with is not guessed.
    if (!options.given("data.mask_document_ends") && !text_beginning(source).empty())
      config.data.mask_document_ends = true;
    checkpoint::agree(world,
                      [&] { encoded = std::make_unique<train::TextStore>(config.text, source); });
  }
  config.data.vocab_size = source.model.vocab_size;
  const auto stores = encoded ? std::vector<std::string>{encoded->path()} : config.stores;
  const Architecture& architecture = *source.model.architecture;
  const bool restores = architecture.maps_source(source.model);
  train::MakeObjective objective;
  if (restores) objective = [](const LocalModel& of) { return train::denoising_objective(of, {}); };
  train::LoadedModel loaded(source, config.parallel, DType::f32, world, objective);
  const train::EvaluatedModel model = loaded.evaluated(config.batch);
  if (restores) return restored_tokens(model, source, stores, config);
  return architecture.fills_masks(source.model) ? masked_tokens(model, source, stores, config)
                                                : next_tokens(model, source, stores, config);
}

Result pairs_of_texts(EvaluateConfig& config, Options& options, const train::TrainedModel& source,
                      Group& world) {
  config.pairs.pairs.bad_records = config.chats.chat.records.bad_records;
  const train::PairEvaluation asked{
      config.pairs, config.labels.columns, options,     config.labels.files,
      source,       config.parallel,       config.batch};
  const train::PairResult found = evaluate_pairs(asked, world);
  return {known(found.values), found.signatures};
}

Result graphs_of(const EvaluateConfig& config, const train::TrainedModel& source, Group& world) {
  const auto& files = config.labels.files;
  NamedValues values =
      evaluate_graphs(files, config.graphs, source, config.parallel, config.batch, world);
  if (config.smoothing)
    std::ranges::copy(train::evaluate_smoothing(files, config.graphs, source, config.parallel,
                                                config.batch, world),
                      std::back_inserter(values));
  return {known(values)};
}

void refuse_texts(const Options& options, Reads reads) {
  EvaluateConfig none;
  const auto bind_own = [&](Options& own) {
    bind_windows(own, none);
    bind(own, none.labels.columns);
    bind(own, none.chats);
    bind(own, none.pairs);
    bind_reading(own, none.preferences, "reward");
  };
  refuse_changed(options, bind_own,
                 fmt::format("is for texts, but the model reads {}; leave it out", name_of(reads)));
}

Result preferences_of(EvaluateConfig& config, Options& options, const train::TrainedModel& source,
                      Group& world) {
  config.preferences.bad_records = config.chats.chat.records.bad_records;
  const auto report =
      rlhf::rewards::evaluate_reward({source.info.path, config.labels.files, config.preferences,
                                      options, config.parallel, config.batch},
                                     world);
  return {known(report.values())};
}

// By what the model has learnt.
Result records_of_texts(EvaluateConfig& config, Options& options, const train::TrainedModel& source,
                        Group& world) {
  const Architecture& architecture = *source.model.architecture;
  const On on = rlhf::rewards::reward_head(source.state.notes, source.info.path) ? On::preferences
                : architecture.maps_source(source.model)                         ? On::pairs
                : architecture.continues_text(source.model)                      ? On::chats
                                                                                 : On::labels;
  refuse_others(options, on, source.info.path);
  if (on == On::preferences) return preferences_of(config, options, source, world);
  if (on == On::pairs) return pairs_of_texts(config, options, source, world);
  const auto& files = config.labels.files;
  const ParallelConfig& parallel = config.parallel;
  if (on == On::chats)
    return {known(train::evaluate_chats(
        {config.chats, options, files, source, parallel, config.batch}, world))};
  return {known(evaluate_labels(config.labels, options, source, parallel, config.batch, world))};
}

Result evaluate_examples(EvaluateConfig& config, Options& options,
                         const train::TrainedModel& source, Group& world) {
  const auto& files = config.labels.files;
  const ParallelConfig& parallel = config.parallel;
  const Reads reads = source.model.architecture->reads();
  if (reads == Reads::texts) return records_of_texts(config, options, source, world);
  refuse_texts(options, reads);
  if (reads == Reads::graphs) return graphs_of(config, source, world);
  if (reads == Reads::pictures)
    return {known(train::evaluate_images(files, source, parallel, config.batch, world))};
  return {known(train::evaluate_stories(files, source, parallel, config.batch, world))};
}

// Collective.
void check_finite(const MeasuredValues& values, const train::TrainedModel& source, Group& world) {
  std::vector<std::string> odd;
  for (const auto& [name, value] : values)
    if (value && !std::isfinite(*value))
      odd.push_back(name + (std::isnan(*value) ? " is NaN" : " is infinite"));
  if (odd.empty()) return;
  const bool has_loss = std::ranges::any_of(values, [](const auto& value) {
    return value.first == "loss" && value.second && std::isfinite(*value.second);
  });
  const char* otherwise =
      has_loss ? "Its loss is finite, and exp(loss) is not: to this model the text is as good as "
                 "impossible"
               : "";
  fail("the evaluation of {} gives no finite numbers: {}. {}", source.info.path,
       fmt::join(odd, ", "), reason_of_non_finite(source, DType::f32, world, otherwise));
}

}  // namespace

int evaluate_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  EvaluateConfig config;
  Options options("skein eval",
                  "Measures how well a model predicts text: loss, perplexity, bits per byte; for "
                  "encoders masked tokens; for fine-tuned models and those of pictures and graphs "
                  "their labels, for reward models "
                  "preferences; the answers of conversations; or how near what it writes for "
                  "sources is to their targets: BLEU, chrF, ROUGE, exact match, F1.");
  bind(options, config);
  if (!parse(options, args, false)) return 0;
  check(config);
  world = begin_world();
  std::optional<ResultFile> file;  // before the work, so that its result is not lost
  checkpoint::agree(*world, [&] {
    if (world->rank() == 0 && !config.output.empty()) file.emplace("eval.output", config.output);
  });
  const train::TrainedModel source =
      train::open_trained_model(config.checkpoint, config.parallel.timeout, *world);
  require(!config.smoothing || source.model.architecture->reads() == Reads::graphs,
          "eval.smoothing is for models of graphs, but {} is none; leave it out", source.info.path);
  if (const Reads reads = source.model.architecture->reads(); reads != Reads::graphs)
    train::refuse_graph_part(options, reads);
  const bool examples = !config.labels.files.empty();
  const Result result = examples ? evaluate_examples(config, options, source, *world)
                                 : Result{evaluate_text(config, options, source, *world)};
  check_finite(result.values, source, *world);
  checkpoint::agree(*world, [&] {
    if (file) write_evaluation(*file, source, result);
  });
  return 0;
}

}  // namespace skein::cli
