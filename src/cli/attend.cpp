#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/parameters.h"
#include "skein/core/log.h"
#include "skein/data/records/text_pairs.h"
#include "skein/models/architecture.h"
#include "skein/parallel/local_model.h"
#include "skein/train/attention/pictures.h"
#include "skein/train/evaluations/story_model.h"
#include "skein/train/tasks/pair_notes.h"
#include "skein/train/tasks/text_input.h"

#include "command.h"

namespace skein::cli {
namespace {

struct AttendConfig {
  std::string checkpoint, input, output, start;
  data::PairsConfig pairs;
  int64_t texts = 1;
  ParallelConfig parallel;
};

void bind(Options& options, AttendConfig& c) {
  options.add("checkpoint.path", c.checkpoint,
              "run folder (its best weights, else its newest good checkpoint) or checkpoint");
  options.add("attend.input", c.input,
              "file of texts instead of ARGUMENTs, one a line; .csv, .tsv or .jsonl, as a file of "
              "pairs must be for a model that maps sources; a store of stories for one of these");
  options.add("attend.output", c.output,
              "folder for attention.json and a picture of each layer; empty: only the log tells");
  options.add("attend.texts", c.texts,
              "texts that are written and drawn, while all are counted; of stories, questions that "
              "are shown",
              "texts");
  options.add("attend.start", c.start,
              "token that a decoder with a source is fed first; empty: the checkpoint's");
  bind(options, c.pairs);
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
  Mesh mesh(world, mesh_shape(c.parallel, world.size()));
  LocalModel local(model.model, c.parallel, mesh, DType::f32);
  load_weights(model.info, local.parameters(), mesh.world());
  Pipeline pipeline(mesh, local.pipeline_model(), c.parallel.schedule);
  train::AttentionHabits habits;
  std::vector<train::AttentionRecording> kept;
  for (const train::AttendedText& text : texts) {
    auto maps = attention_maps(text, pipeline, local.pass(), mesh);
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

}  // namespace

int attend_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  AttendConfig config;
  Options options("skein attend",
                  "Shows what a model looks at in the ARGUMENTs, texts or sources with their "
                  "targets: weights of attention of each layer and head, as numbers and pictures.");
  bind(options, config);
  if (!parse(options, args, true)) return 0;
  require(options.words().empty() != config.input.empty(),
          "give either texts as arguments or a file of them, attend.input; {}",
          config.input.empty() ? "there is neither" : "there are both");
  require(config.texts > 0, "attend.texts={} must be at least 1", config.texts);
  world = begin_world();
  const train::TrainedModel model = train::open_trained_model(config.checkpoint, *world);
  if (model.model.architecture->memories(model.model) > 0) {
    attend_stories(config, model, *world);
    return 0;
  }
  require_tokenizer(model);
  attend(config, options.words(), model, *world);
  return 0;
}

}  // namespace skein::cli
