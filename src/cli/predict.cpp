#include <sstream>

#include "skein/checkpoint/agree.h"
#include "skein/core/files/result_file.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"
#include "skein/parallel/precision.h"
#include "skein/train/evaluations/finite_answers.h"
#include "skein/train/evaluations/story_model.h"
#include "skein/train/graphs/trained_graph_model.h"
#include "skein/train/tasks/image_model.h"
#include "skein/train/tasks/label_model.h"
#include "skein/train/tasks/picture_input.h"
#include "skein/train/tasks/text_input.h"

#include "command.h"

namespace skein::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PredictConfig {
  std::string checkpoint, input, output;
  train::LabelColumns columns;
  train::PictureFitting fitting;
  train::GraphPartConfig graphs{{data::GraphUse::all}};
  ParallelConfig parallel;
  Precision precision;
  int64_t batch = 8;
};

void bind(Options& options, PredictConfig& c) {
  options.add("checkpoint.path", c.checkpoint,
              "run folder (its best weights, else its newest good checkpoint) or checkpoint");
  options.add("data.input", c.input,
              "texts: .csv, .tsv or .jsonl, else one a line; CoNLL columns for a model of tags; - "
              "for stdin; for a model of pictures a store of them, a picture, or a folder or table "
              "of pictures; for a model of graphs or of stories a store of them");
  options.add("output.path", c.output,
              "file for the result instead of stdout: JSONL, or CoNLL columns with the tag as the "
              "last one");
  bind(options, c.columns);
  bind(options, c.fitting);
  bind(options, c.graphs);
  bind_neighbours(options, c.graphs);
  options.add("predict.batch", c.batch, "samples a forward pass", "samples");
  bind_precision(options, "predict.precision", c.precision, "of parameters and activations");
  bind(options, c.parallel);
}

// Bytes that are no UTF-8 become U+FFFD.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

DType dtype_of(const PredictConfig& c) { return precision_on(c.parallel.device, c.precision); }

// Collective: refuses answers that are no numbers.
using Check = std::function<void(const train::LabelAnswers&)>;

Check check_of(const PredictConfig& c, const train::TrainedModel& source, Group& world) {
  return [&](const train::LabelAnswers& answers) {
    train::require_finite(answers.scores, source, dtype_of(c), world);
  };
}

Json said_of(const train::LabelHead& head, const train::LabelAnswers& answers, int64_t sample,
             int64_t place = 0) {
  if (head.kind == train::LabelKind::regress)
    return {{"value", head.mean + head.deviation * *answers.at(sample, place)}};
  const std::vector<double> all = shares(answers, sample, place);
  const size_t best = answers.best(sample, place);
  Json scores;
  for (size_t i = 0; i < all.size(); ++i) scores[head.labels[i]] = all[i];
  return {{"label", head.labels[best]}, {"score", all[best]}, {"scores", scores}};
}

int64_t predict_texts(train::LabelModel& model, train::TextInput& input, const Check& check,
                      ResultFile* result, Group& world) {
  return each_part(input, "texts", world, [&](const std::vector<data::LabelledExample>& texts) {
    const train::LabelAnswers answers = model.answers(formed(model.head(), model.form(), texts));
    check(answers);
    checkpoint::agree(world, [&] {
      for (size_t i = 0; result && i < texts.size(); ++i) {
        Json json{{"text", texts[i].text}};
        if (model.head().pairs) json["pair"] = texts[i].pair;
        json.update(said_of(model.head(), answers, i));
        result->write(line_of(json));
      }
    });
  });
}

int64_t predict_pictures(train::ImageModel& model, train::PictureInput& input, const Check& check,
                         ResultFile* result, Group& world) {
  return each_part(
      input, "pictures", world,
      [&](const std::vector<train::NamedPicture>& pictures) {
        const train::LabelAnswers answers =
            model.answers(train::PictureSamples(pictures, model.form()), std::ssize(pictures),
                          model.head().outputs());
        check(answers);
        checkpoint::agree(world, [&] {
          for (size_t i = 0; result && i < pictures.size(); ++i) {
            Json json{{"picture", pictures[i].name}};
            if (!pictures[i].truth.empty()) json["truth"] = pictures[i].truth;
            json.update(said_of(model.head(), answers, i));
            result->write(line_of(json));
          }
        });
      },
      input.at_once());
}

// What is asked of a unit, in the order of its answers.
std::vector<Json> asked_of(const data::GraphSamples& samples, int64_t number) {
  std::vector<Json> made;
  if (samples.of_pairs()) {
    const std::vector<data::NodePair> pairs = samples.pairs(number);
    const std::vector<int32_t> truth = samples.classes(number);
    for (size_t i = 0; i < pairs.size(); ++i)
      made.push_back({{"pair", {pairs[i].first, pairs[i].second}}, {"linked", truth[i] == 1}});
    return made;
  }
  for (const int32_t node : samples.units()[static_cast<size_t>(number)].nodes)
    made.push_back(samples.form().of_nodes ? Json{{"node", node}} : Json::object());
  return made;
}

// A line a graph, or a node or a pair of nodes of each.
int64_t predict_graphs(train::TrainedGraphModel& model, const data::GraphSamples& samples,
                       const Check& check, ResultFile* result, Group& world) {
  const train::LabelAnswers answers = model.answers(samples);
  check(answers);
  int64_t done = 0;
  checkpoint::agree(world, [&] {
    for (int64_t number = 0; number < samples.samples_per_epoch(); ++number) {
      const data::GraphUnit& unit = samples.units()[static_cast<size_t>(number)];
      const auto& store = samples.blend().parts[static_cast<size_t>(unit.part)];
      int64_t place = 0;
      for (const Json& asked : asked_of(samples, number)) {
        Json json{{"graph", fmt::format("{}, graph {}", store.records().name(), unit.record)}};
        json.update(asked);
        json.update(said_of(model.head(), answers, number, place++));
        if (result) result->write(line_of(json));
      }
      done += place;
    }
  });
  return done;
}

int64_t predict_tags(train::LabelModel& model, train::SentenceInput& input, const Check& check,
                     ResultFile* result, Group& world) {
  return each_part(input, "sentences", world,
                   [&](const std::vector<data::TaggedSentence>& sentences) {
                     const train::LabelData data = train::formed(model.form(), sentences);
                     const train::LabelAnswers answers = model.answers(data);
                     check(answers);
                     const auto tags = tags_of(data, answers);
                     checkpoint::agree(world, [&] {
                       std::ostringstream text;
                       for (size_t i = 0; result && i < sentences.size(); ++i) {
                         std::vector<std::string> names;
                         for (int32_t id : tags[i]) names.push_back(model.head().labels[id]);
                         write_conll(text, sentences[i], names);
                       }
                       if (result) result->write(text.str());
                     });
                   });
}

struct Done {
  int64_t count;
  const char* what;
};

void refuse_columns(const Options& options, Reads reads) {
  refuse_options_of<train::LabelColumns>(
      options, fmt::format("is for texts, but the model reads {}; leave it out", name_of(reads)));
}

Done label_pictures(Options& options, const PredictConfig& c, const train::TrainedModel& source,
                    ResultFile* result, Group& world) {
  refuse_columns(options, Reads::pictures);
  train::ImageModel model(source, c.parallel, dtype_of(c), c.batch, world);
  require(!model.head().labels.empty(),
          "{} says hidden patches of pictures and no classes; teach it some with skein finetune",
          source.info.path);
  train::PictureInput input(c.input, c.fitting, settled(options, c.fitting, model.head().fitting),
                            model.form());
  return {predict_pictures(model, input, check_of(c, source, world), result, world), "pictures"};
}

Done answer_stories(Options& options, const PredictConfig& c, const train::TrainedModel& source,
                    ResultFile* result, Group& world) {
  refuse_columns(options, Reads::stories);
  train::StoryModel model(source, c.parallel, dtype_of(c), c.batch, world);
  const data::StorySamples samples = model.samples({c.input});
  const train::LabelAnswers answers = model.answers(samples);
  check_of(c, source, world)(answers);
  for (int64_t i = 0; i < samples.samples_per_epoch(); ++i) {
    const train::StoryAnswer one = model.answer(samples, answers, i);
    const Json json{{"task", one.task},   {"story", one.sentences}, {"question", one.question},
                    {"truth", one.truth}, {"support", one.support}, {"label", one.said},
                    {"score", one.score}, {"weights", one.weights}};
    checkpoint::agree(world, [&] {
      if (result) result->write(line_of(json));
    });
  }
  return {samples.samples_per_epoch(), "questions"};
}

Done label_graphs(Options& options, const PredictConfig& c, const train::TrainedModel& source,
                  ResultFile* result, Group& world) {
  refuse_columns(options, Reads::graphs);
  train::TrainedGraphModel model(source, c.parallel, dtype_of(c), c.batch, world);
  data::GraphChoice choice = c.graphs.choice;
  choice.unlabelled = true;
  const data::GraphSamples samples = model.samples({c.input}, choice, c.graphs.neighbours);
  return {predict_graphs(model, samples, check_of(c, source, world), result, world),
          samples.of_pairs()        ? "pairs"
          : samples.form().of_nodes ? "nodes"
                                    : "graphs"};
}

Done label_texts(Options& options, const PredictConfig& c, const train::TrainedModel& source,
                 ResultFile* result, Group& world) {
  train::LabelModel model(source, c.parallel, dtype_of(c), c.batch, world);
  model.settle_columns(options, c.columns, source.info.path);
  if (model.head().kind == train::LabelKind::tag) {
    train::SentenceInput sentences(c.input, c.columns);
    return {predict_tags(model, sentences, check_of(c, source, world), result, world), "sentences"};
  }
  train::TextInput texts(c.input, c.columns, model.head().pairs);
  return {predict_texts(model, texts, check_of(c, source, world), result, world), "texts"};
}

}  // namespace

int predict_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  PredictConfig config;
  Options options("skein predict",
                  "Labels texts, pairs, words, pictures or graphs with a trained model.");
  bind(options, config);
  if (!parse(options, args, false, [&] {
        settle_precision(options, "predict.precision", config.precision, config.parallel.device);
      }))
    return 0;
  require(!config.input.empty(),
          "data.input is empty; give a file of texts, - for stdin, pictures, or graphs");
  require(config.batch > 0, "predict.batch={} must be at least 1", config.batch);
  world = begin_world();
  const train::TrainedModel source =
      train::open_trained_model(config.checkpoint, config.parallel.timeout, *world);
  const Reads reads = source.model.architecture->reads();
  if (reads != Reads::pictures) train::refuse_fitting(options, reads);
  if (reads != Reads::graphs) train::refuse_graph_part(options, reads);
  std::unique_ptr<ResultFile> result;
  checkpoint::agree(*world, [&] {
    if (world->rank() == 0) result = std::make_unique<ResultFile>("output.path", config.output);
  });
  const auto label = reads == Reads::pictures  ? label_pictures
                     : reads == Reads::graphs  ? label_graphs
                     : reads == Reads::stories ? answer_stories
                                               : label_texts;
  const Done done = label(options, config, source, result.get(), *world);
  require(done.count > 0, "data.input={} holds nothing to label", config.input);
  checkpoint::agree(*world, [&] {
    if (result) result->finish();
  });
  log::info("{} {} labelled by {}", done.count, done.what, source.info.path);
  return 0;
}

}  // namespace skein::cli
