#include "skein/checkpoint/agree.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"
#include "skein/models/pooled.h"
#include "skein/parallel/precision.h"
#include "skein/train/evaluations/finite_answers.h"
#include "skein/train/graphs/trained_graph_model.h"
#include "skein/train/tasks/image_model.h"
#include "skein/train/tasks/label_model.h"
#include "skein/train/tasks/picture_input.h"
#include "skein/train/tasks/text_input.h"
#include "skein/train/tasks/vector_file.h"
#include "skein/train/trained_model.h"
#include "skein/train/vocabulary.h"

#include "command.h"

namespace skein::cli {
namespace {

struct EmbedConfig {
  std::string checkpoint, input, output;
  train::LabelColumns columns;
  train::PictureFitting fitting;
  train::GraphPartConfig graphs{{data::GraphUse::all}};
  train::GraphVector of = train::GraphVector::automatic;
  Pool pool = Pool::mean;
  int64_t length = 0, batch = 8;
  ParallelConfig parallel;
  Precision precision;
};

void bind_graphs(Options& options, EmbedConfig& c) {
  using train::GraphVector;
  options.add_choice("embed.of", c.of,
                     {{"auto", GraphVector::automatic},
                      {"nodes", GraphVector::node},
                      {"graphs", GraphVector::graph}},
                     "graph: what has a vector each, nodes or whole graphs, their virtual node "
                     "or the means of their nodes; auto: what the model tells labels of");
  bind(options, c.graphs);
}

void bind(Options& options, EmbedConfig& c) {
  options.add("checkpoint.path", c.checkpoint,
              "run folder (its best weights, else its newest good checkpoint) or checkpoint");
  options.add(
      "data.input", c.input,
      "texts: .csv, .tsv or .jsonl, else one a line; - for stdin; for a model of pictures a "
      "store of them, a picture, or a folder or table of pictures; for a model of graphs a "
      "store of them");
  options.add("embed.text", c.columns.text,
              "column of the text, by name or number from 1; JSONL: its key");
  options.add(
      "embed.output", c.output,
      "file for the vectors: .jsonl, or .npy for an array of f32 with a row for each; empty: "
      "JSONL to stdout");
  options.add_choice(
      "embed.pool", c.pool, {{"mean", Pool::mean}, {"first", Pool::first}, {"last", Pool::last}},
      "mean of all hidden states of a text or of a picture's patches, or that of the first token "
      "([CLS]) or the last");
  bind(options, c.fitting);
  bind_graphs(options, c);
  options.add("embed.length", c.length,
              "longest text, what is longer loses its end; 0: model.context", "tokens");
  options.add("embed.batch", c.batch, "texts, pictures or graphs a forward pass", "samples");
  bind_precision(options, "embed.precision", c.precision, "of parameters and activations");
  bind(options, c.parallel);
}

void check(const EmbedConfig& c) {
  require(!c.input.empty(), "data.input is empty; give a file of texts, - for stdin, or pictures");
  require(c.output.empty() || c.output.ends_with(".jsonl") || c.output.ends_with(".npy"),
          "embed.output={} must end in .jsonl or .npy", c.output);
  require(c.batch > 0, "embed.batch={} must be at least 1", c.batch);
}

// Of rank 0 alone. Collective calls: all ranks fail where it cannot be written.
using OwnFile = std::unique_ptr<train::VectorFile>;

// of: what has a vector each.
OwnFile begin_file(const EmbedConfig& c, int64_t width, const std::string& of, Group& world) {
  OwnFile made;
  checkpoint::agree(world, [&] {
    if (world.rank() == 0)
      made = std::make_unique<train::VectorFile>("embed.output", c.output, width, of);
  });
  return made;
}

// Collective: refuses vectors that are no numbers.
void check(const Tensor& vectors, const EmbedConfig& c, const train::TrainedModel& source,
           Group& world) {
  train::require_finite(vectors, source, precision_on(c.parallel.device, c.precision), world);
}

void add(const OwnFile& file, const std::vector<std::string>& names, const Tensor& vectors,
         Group& world) {
  checkpoint::agree(world, [&] {
    if (file) file->add(names, vectors);
  });
}

void finish(const OwnFile& file, Group& world) {
  checkpoint::agree(world, [&] {
    if (file) file->finish();
  });
}

train::MakeObjective pooled(const EmbedConfig& c, int64_t left_out = 0) {
  return [pool = c.pool, left_out](const LocalModel&) {
    return std::make_unique<PoolingObjective>(pool, left_out);
  };
}

int64_t embed_texts(const EmbedConfig& c, const train::TrainedModel& source, Group& world) {
  const ModelConfig& model = source.model;
  const bool encoder = model.architecture->sees_ahead();
  require(!model.architecture->maps_source(model),
          "{} is {}; vectors are made by models that read one text", source.info.path,
          model.architecture->otherwise(model));
  require(c.length >= 0 && c.length <= model.context,
          "embed.length={} must be from 1 to model.context={}, the longest that the model can see",
          c.length, model.context);
  const data::LabelForm form(*source.state.tokenizer,
                             {.encoder = encoder,
                              .length = c.length > 0 ? c.length : model.context,
                              .separator = "",
                              .closed = false,
                              .framed = untrained_import(source.state)});
  train::LoadedModel loaded(source, c.parallel, precision_on(c.parallel.device, c.precision), world,
                            pooled(c));
  const OwnFile file = begin_file(c, model.d_model, "text", world);
  train::TextInput input(c.input, c.columns, false);
  int64_t cut = 0;
  const int64_t done = each_part(input, "texts", world, [&](const auto& texts) {
    const train::LabelData data = formed(train::LabelHead{}, form, texts);
    for (const data::LabelledSample& sample : data.samples)
      train::check_ids(sample.form.tokens, model);
    const int64_t length = padded_length(data.samples, row_multiple(c.parallel), model.context);
    const auto samples = data.source(form, length, false, 0, train::LabelKind::classify, false);
    const train::LabelAnswers vectors =
        train::label_answers(loaded.evaluated(c.batch), *samples, model.d_model);
    check(vectors.scores, c, source, world);
    std::vector<std::string> named;
    for (const data::LabelledExample& one : texts) named.push_back(one.text);
    add(file, named, vectors.scores, world);
    cut += data.cut;
  });
  require(done > 0, "data.input={} holds no text", c.input);
  if (cut > 0)
    log::warn("{} of the texts are longer than {} tokens and lost their ends", cut,
              c.length > 0 ? c.length : model.context);
  finish(file, world);
  return done;
}

int64_t embed_pictures(const Options& options, const EmbedConfig& c,
                       const train::TrainedModel& source, Group& world) {
  const data::PictureForm form = source.model.architecture->picture_form(source.model);
  require(c.pool == Pool::mean || (c.pool == Pool::first && form.class_token),
          "embed.pool must be mean{} for {}, which reads pictures",
          form.class_token ? " or first" : "", source.info.path);
  require(c.length == 0, "embed.length={} is for texts, but {} reads pictures; leave it out",
          c.length, source.info.path);
  const int64_t width = source.model.architecture->features(source.model);
  train::ImageModel model(source, c.parallel, precision_on(c.parallel.device, c.precision), c.batch,
                          world, pooled(c, form.class_token ? 1 : 0));
  const OwnFile file = begin_file(c, width, "picture", world);
  train::PictureInput input(c.input, c.fitting, settled(options, c.fitting, model.head().fitting),
                            model.form());
  const int64_t done = each_part(
      input, "pictures", world,
      [&](const std::vector<train::NamedPicture>& pictures) {
        const train::LabelAnswers vectors = model.answers(
            train::PictureSamples(pictures, model.form()), std::ssize(pictures), width);
        check(vectors.scores, c, source, world);
        std::vector<std::string> named;
        for (const train::NamedPicture& one : pictures) named.push_back(one.name);
        add(file, named, vectors.scores, world);
      },
      input.at_once());
  require(done > 0, "data.input={} holds no picture", c.input);
  finish(file, world);
  return done;
}

int64_t embed_graphs(const EmbedConfig& c, const train::TrainedModel& source, Group& world) {
  require(c.pool == Pool::mean, "embed.pool must be mean for {}, which reads graphs",
          source.info.path);
  require(c.length == 0, "embed.length={} is for texts, but {} reads graphs; leave it out",
          c.length, source.info.path);
  const bool tells_nodes = source.model.head == Head::token;
  const bool of_nodes =
      c.of == train::GraphVector::node || (c.of == train::GraphVector::automatic && tells_nodes);
  train::TrainedGraphModel model(source, c.parallel, precision_on(c.parallel.device, c.precision),
                                 c.batch, world, train::vector_objective(of_nodes));
  data::GraphChoice choice = c.graphs.choice;
  choice.unlabelled = true;
  const data::GraphSamples samples = model.samples({c.input}, choice);
  const int64_t width = source.model.architecture->features(source.model);
  const OwnFile file = begin_file(c, width, of_nodes ? "node" : "graph", world);
  const int64_t done =
      graph_vectors(model, samples, of_nodes, width, [&](const auto& names, const Tensor& vectors) {
        check(vectors, c, source, world);
        add(file, names, vectors, world);
      });
  finish(file, world);
  return done;
}

// Options of what the model does not read.
void refuse_others(const Options& options, const train::TrainedModel& source) {
  const Architecture& kind = *source.model.architecture;
  const Reads reads = kind.reads();
  if (reads != Reads::pictures && reads != Reads::graphs) require_tokenizer(source);
  require(reads == Reads::texts || !options.changed("embed.text"),
          "embed.text is for texts, but the model reads {}; leave it out", name_of(reads));
  if (reads != Reads::pictures) train::refuse_fitting(options, reads);
  if (reads == Reads::graphs) return;
  EmbedConfig none;
  refuse_changed(
      options, [&](Options& own) { bind_graphs(own, none); },
      fmt::format("is for graphs, but the model reads {}; leave it out", name_of(reads)));
}

int64_t embed(const Options& options, const EmbedConfig& c, const train::TrainedModel& source,
              Group& world) {
  const Architecture& kind = *source.model.architecture;
  if (kind.reads() == Reads::pictures) return embed_pictures(options, c, source, world);
  return kind.reads() == Reads::graphs ? embed_graphs(c, source, world)
                                       : embed_texts(c, source, world);
}

}  // namespace

int embed_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  EmbedConfig config;
  Options options("skein embed",
                  "Turns texts, pictures, graphs or their nodes into vectors: hidden states of a "
                  "model, one for each.");
  bind(options, config);
  if (!parse(options, args, false, [&] {
        settle_precision(options, "embed.precision", config.precision, config.parallel.device);
      }))
    return 0;
  check(config);
  world = begin_world();
  const train::TrainedModel source =
      train::open_trained_model(config.checkpoint, config.parallel.timeout, *world);
  refuse_others(options, source);
  const int64_t done = embed(options, config, source, *world);
  log::info("{} vectors of {} numbers from {}", done,
            source.model.architecture->features(source.model), source.info.path);
  return 0;
}

}  // namespace skein::cli
