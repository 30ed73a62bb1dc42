#include "skein/train/graphs/trained_graph_model.h"

#include <algorithm>
#include <cmath>

#include "skein/checkpoint/parameters.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/models/architecture.h"
#include "skein/train/graphs/graph_scores.h"
#include "skein/train/graphs/graph_task.h"
#include "skein/train/tasks/adapting.h"

namespace skein::train {

void bind(Options& options, GraphPartConfig& c) {
  using data::GraphUse;
  options.add_choice("graph.part", c.choice.use,
                     {{"train", GraphUse::training},
                      {"validation", GraphUse::validation},
                      {"test", GraphUse::test},
                      {"all", GraphUse::all}},
                     "graph: which part of the stores' split is meant; stores without one are "
                     "meant whole");
  options.add("graph.fold", c.choice.fold,
              "graph: of stores that are split in folds, the one that is the test, as in training");
}

void refuse_graph_part(const Options& options) {
  GraphPartConfig none;
  Options own("", "");
  bind(own, none);
  refuse_changed(options, own, "is for graphs, but the model reads none; leave it out");
}

namespace {

LabelHead head_in(const TrainedModel& source) {
  const auto head = label_head(source.state.notes, source.info.path);
  require(head && head->reads_graphs(), "the notes of {} do not say how it reads graphs",
          source.info.path);
  ModelConfig fitted = source.model;
  data::GraphSizes sizes = head->graph->sizes();
  sizes.nodes = fitted.context;
  with_origin("the notes of " + source.info.path + " do not fit its model",
              [&] { fitted.architecture->take_graphs(fitted, sizes); });
  require(fitted.parameters() == source.model.parameters() &&
              head->outputs() == source.model.labels && std::isfinite(head->mean) &&
              std::isfinite(head->deviation) && head->deviation > 0,
          "the notes of {} do not fit its model: {} outputs, mean {}, deviation {}, and the model "
          "has {} labels",
          source.info.path, head->outputs(), head->mean, head->deviation, source.model.labels);
  return *head;
}

}  // namespace

TrainedGraphModel::TrainedGraphModel(const TrainedModel& source, const ParallelConfig& parallel,
                                     DType dtype, int64_t batch, Group& world)
    : origin_(source.info.path),
      head_(head_in(source)),
      mesh_(world, mesh_shape(parallel, world.size())),
      local_(source.model, parallel, mesh_, dtype),
      pipeline_(mesh_, local_.pipeline_model(), parallel.schedule),
      batch_(batch) {
  load_weights(source.info, local_.parameters(), mesh_.world());
}

data::GraphSamples TrainedGraphModel::samples(const std::vector<std::string>& stores,
                                              const data::GraphChoice& choice) const {
  data::GraphBlend blend = open_graphs(stores);
  const data::GraphForm& form = *head_.graph;
  for (const data::GraphRecords& part : blend.parts) {
    check_form(part, form, origin_);
    if (choice.unlabelled) continue;
    const std::vector<std::string> classes = classes_of(part, form.of_nodes);
    require(classes == head_.labels, "{} has the classes {}, but {} tells {}",
            part.records().name(), excerpt(listed(classes)), origin_,
            excerpt(listed(head_.labels)));
  }
  std::vector<data::GraphUnit> units = chosen_units(blend, form, choice);
  require(!units.empty(), "{} has nothing of the part that graph.part says",
          blend.parts.front().records().name());
  return {std::move(blend),
          std::move(units),
          form,
          {.units = {head_.mean, head_.deviation}, .labelled = !choice.unlabelled}};
}

LabelAnswers TrainedGraphModel::answers(const data::GraphSamples& samples) {
  return graph_answers({pipeline_, local_.pass(), mesh_, batch_}, samples, head_.outputs());
}

NamedValues evaluate_graphs(const std::vector<std::string>& stores, const GraphPartConfig& config,
                            const TrainedModel& source, const ParallelConfig& parallel,
                            int64_t batch, Group& world) {
  TrainedGraphModel model(source, parallel, DType::f32, batch, world);
  const data::GraphSamples samples = model.samples(stores, config.choice);
  Scores scores = graph_scores(model.head(), samples, model.answers(samples));
  log::info("{}: {}", source.info.path, scores.text);
  scores.values.emplace_back("samples", samples.samples_per_epoch());
  return scores.values;
}

}  // namespace skein::train
