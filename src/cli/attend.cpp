#include "skein/checkpoint/agree.h"
#include "skein/core/log.h"
#include "skein/data/records/text_pairs.h"
#include "skein/models/architecture.h"
#include "skein/train/attention/pictures.h"
#include "skein/train/evaluations/story_model.h"
#include "skein/train/graphs/link_weights.h"
#include "skein/train/tasks/pair_notes.h"
#include "skein/train/tasks/text_input.h"
#include "skein/train/trained_model.h"

#include "command.h"

namespace skein::cli {
namespace {

struct AttendConfig {
  std::string checkpoint, input, output, start;
  data::PairsConfig pairs;
  int64_t texts = 1, graph = -1, node = -1;
  train::GraphPartConfig graphs{{data::GraphUse::all}};
  ParallelConfig parallel;
};

void bind_graphs(Options& options, AttendConfig& c) {
  options.add("attend.graph", c.graph,
              "graph: number of the only graph of the store that is meant; -1: the first ones");
  options.add("attend.node", c.node,
              "graph: number of the only node whose links are told, those by which it gathers; -1: "
              "all");
  bind(options, c.graphs);
}

void bind_texts(Options& options, AttendConfig& c) {
  options.add("attend.start", c.start,
              "token that a decoder with a source is fed first; empty: the checkpoint's");
  bind(options, c.pairs);
}

// Those of texts that only pairs have.
void bind_sides(Options& options, AttendConfig& c) {
  options.add("attend.start", c.start, "");
  options.add("task.label", c.pairs.label, "");
  bind_beside_columns(options, c.pairs);
  bind_bad_records(options, c.pairs);
}

void bind(Options& options, AttendConfig& c) {
  options.add("checkpoint.path", c.checkpoint,
              "run folder (its best weights, else its newest good checkpoint) or checkpoint");
  options.add(
      "attend.input", c.input,
      "file of texts instead of ARGUMENTs, one a line; .csv, .tsv or .jsonl, as a file of "
      "pairs must be for a model that maps sources; a store of stories or graphs for a model of "
      "these");
  options.add("attend.output", c.output,
              "folder for attention.json, of graphs attention.jsonl, and a picture of each layer; "
              "empty: only the log tells");
  options.add("attend.texts", c.texts,
              "texts that are written and drawn, while all are counted; of stories, questions that "
              "are shown; of graphs, those that are read",
              "texts");
  bind_texts(options, c);
  bind_graphs(options, c);
  bind(options, c.parallel);
}

using Words = std::vector<std::string>;

// In twos: a source, and its target.
std::vector<data::TextPair> pairs_of(const Words& words) {
  require(words.size() % 2 == 0,
          "{} texts were given to a model that maps sources; give them in twos, a source and its "
          "target each, or attend.input",
          words.size());
  std::vector<data::TextPair> made;
  for (size_t i = 0; i < words.size(); i += 2)
    made.push_back({.source = words[i], .target = words[i + 1]});
  return made;
}

std::vector<train::AttendedText> attended_pairs(AttendConfig& c, const train::TrainedModel& model,
                                                const Words& words) {
  const data::PairTokenizers both = pair_tokenizers(model);
  const train::PairNotes notes = pair_notes(model.state.notes, model.info.path);
  const data::PairForm form =
      data::pair_form(*both.source, *both.target, decoder_start(model, c.start, "attend.start"));
  const std::string prefix = c.pairs.prefix.empty() ? notes.option("task.prefix") : c.pairs.prefix;
  c.pairs.files = {c.input};
  const auto pairs = c.input.empty() ? pairs_of(words) : read_pairs(c.pairs);
  std::vector<train::AttendedText> made;
  for (const data::TextPair& pair : pairs)
    made.push_back(attended_pair(model, *both.source, form, prefix + pair.source, pair.target));
  return made;
}

std::vector<train::AttendedText> attended_texts(const AttendConfig& c,
                                                const train::TrainedModel& model,
                                                const Words& words, Group& world) {
  std::vector<train::AttendedText> made;
  for (const std::string& word : words) made.push_back(attended_text(model, word));
  if (c.input.empty()) return made;
  train::LabelColumns columns;
  columns.text = c.pairs.text;
  columns.format = c.pairs.format;
  columns.header = c.pairs.header;
  train::TextInput input(c.input, columns, false);
  each_part(input, "texts", world, [&](const auto& texts) {
    for (const data::LabelledExample& one : texts) made.push_back(attended_text(model, one.text));
  });
  return made;
}

std::vector<train::AttendedText> all_texts(AttendConfig& c, const train::TrainedModel& model,
                                           const Words& words, Group& world) {
  if (!model.model.architecture->maps_source(model.model))
    return attended_texts(c, model, words, world);
  std::vector<train::AttendedText> made;
  checkpoint::agree(world, [&] { made = attended_pairs(c, model, words); });
  return made;
}

void attend(AttendConfig& c, const Words& words, const train::TrainedModel& model, Group& world) {
  const auto texts = all_texts(c, model, words, world);
  require(!texts.empty(), "attend.input={} holds no text", c.input);
  train::LoadedModel loaded(model, c.parallel, DType::f32, world);
  train::AttentionHabits habits;
  std::vector<train::AttentionRecording> kept;
  for (const train::AttendedText& text : texts) {
    auto maps = attention_maps(text, loaded.evaluated());
    habits.add(text, maps);
    if (std::ssize(kept) < c.texts) kept.push_back({text, std::move(maps)});
  }
  for (const auto& habit : habits.habits()) log::info("{}", habit_text(habit));
  if (c.output.empty()) return;
  checkpoint::agree(world, [&] {
    if (world.rank() > 0) return;
    const auto files = write_attention("attend.output", c.output, model, habits.habits(), kept);
    log::info("weights of {} texts in {} and {} pictures", kept.size(), files.front(),
              files.size() - 1);
  });
}

// A table a question: what each hop weighs each sentence by.
void attend_stories(const AttendConfig& c, const train::TrainedModel& source, Group& world) {
  require(!c.input.empty(),
          "{} reads stories; give a store of them, attend.input, instead of arguments",
          source.info.path);
  require(c.output.empty(),
          "attend.output={} is for models that read texts; `skein predict` writes what one of "
          "stories weighs",
          c.output);
  train::StoryModel model(source, c.parallel, DType::f32, 64, world);
  const data::StorySamples samples = model.samples({c.input});
  const train::LabelAnswers answers = model.answers(samples);
  for (int64_t i = 0; i < std::min(c.texts, samples.samples_per_epoch()); ++i)
    log::info("{}", model.answer(samples, answers, i).text());
}

void check_graphs(const AttendConfig& c, const train::TrainedModel& source) {
  require(!c.input.empty(),
          "{} reads graphs; give a store of them, attend.input, instead of arguments",
          source.info.path);
  for (const auto& [key, value] : {std::pair("graph", c.graph), std::pair("node", c.node)})
    require(value >= -1, "attend.{}={} must be -1, or a number from 0 on", key, value);
}

void attend_graphs(const AttendConfig& c, const train::TrainedModel& source, Group& world) {
  check_graphs(c, source);
  // Pairs of nodes are not asked for.
  train::TrainedGraphModel model(source, c.parallel, DType::f32, 1, world,
                                 train::vector_objective(true));
  data::GraphChoice choice = c.graphs.choice;
  choice.unlabelled = true;
  const auto graphs =
      weighed_graphs(model, model.samples({c.input}, choice), {c.texts, c.graph, c.node});
  for (const std::string& line : weight_lines(graphs)) log::info("{}", line);
  if (c.output.empty()) return;
  checkpoint::agree(world, [&] {
    if (world.rank() > 0) return;
    const auto files = write_weights("attend.output", c.output, graphs);
    log::info("weights of {} graphs in {} and {} pictures", graphs.size(), files.front(),
              files.size() - 1);
  });
}

// Options of what the model does not read.
void refuse_others(const Options& options, Reads reads) {
  AttendConfig none;
  const auto refuse = [&](Reads others) {
    const auto bind_own = [&](Options& own) {
      others == Reads::texts ? bind_texts(own, none) : bind_graphs(own, none);
    };
    refuse_changed(options, bind_own,
                   fmt::format("is for {}, but the model reads {}; leave it out", name_of(others),
                               name_of(reads)));
  };
  if (reads != Reads::texts) refuse(Reads::texts);
  if (reads != Reads::graphs) refuse(Reads::graphs);
}

void refuse_sides(const Options& options, const train::TrainedModel& model) {
  if (model.model.architecture->maps_source(model.model)) return;
  AttendConfig none;
  refuse_changed(
      options, [&](Options& own) { bind_sides(own, none); },
      fmt::format("is for models that map sources, but {} reads single texts; leave it out",
                  model.info.path));
}

}  // namespace

int attend_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  AttendConfig config;
  Options options("skein attend",
                  "Shows what a model looks at in the ARGUMENTs, texts or sources with their "
                  "targets, or in graphs: weights of attention of each layer and head, as numbers "
                  "and pictures.");
  bind(options, config);
  if (!parse(options, args, true)) return 0;
  require(options.words().empty() != config.input.empty(),
          "give either texts as arguments or a file of them, attend.input; {}",
          config.input.empty() ? "there is neither" : "there are both");
  require(config.texts > 0, "attend.texts={} must be at least 1", config.texts);
  world = begin_world();
  const train::TrainedModel model =
      train::open_trained_model(config.checkpoint, config.parallel.timeout, *world);
  const Reads reads = model.model.architecture->reads();
  refuse_others(options, reads);
  if (reads == Reads::graphs) {
    attend_graphs(config, model, *world);
    return 0;
  }
  if (reads == Reads::stories) {
    attend_stories(config, model, *world);
    return 0;
  }
  require_tokenizer(model);
  refuse_sides(options, model);
  attend(config, options.words(), model, *world);
  return 0;
}

}  // namespace skein::cli
