#include "skein/train/graphs/trained_graph_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/options/options.h"
#include "skein/core/strings.h"
#include "skein/models/architecture.h"
#include "skein/models/pooled.h"
#include "skein/train/graphs/graph_scores.h"
#include "skein/train/graphs/graph_task.h"
#include "skein/train/judge.h"

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

void bind_neighbours(Options& options, GraphPartConfig& c) {
  options.add(
      "graph.neighbours", c.neighbours,
      "graph: how many neighbours of a node are drawn, hop by hop, such as 10,5, for graphs "
      "that do not fit in memory; empty: all are seen");
}

void refuse_graph_part(const Options& options, Reads reads) {
  GraphPartConfig none;
  const auto bind_own = [&](Options& own) {
    bind(own, none);
    bind_neighbours(own, none);
  };
  refuse_changed(
      options, bind_own,
      fmt::format("is for graphs, but the model reads {}; leave it out", name_of(reads)));
}

namespace {

LabelHead graph_head_in(const TrainedModel& source) {
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
                                     DType dtype, int64_t batch, Group& world,
                                     const MakeObjective& objective)
    : origin_(source.info.path),
      head_(graph_head_in(source)),
      asks_pairs_(head_.pairs && !objective),
      model_(source, parallel, dtype, world, objective),
      batch_(batch),
      layers_(source.model.n_layers) {}

data::GraphSamples TrainedGraphModel::samples(const std::vector<std::string>& stores,
                                              const data::GraphChoice& choice,
                                              const std::vector<int64_t>& neighbours) const {
  data::GraphBlend blend = open_graphs(stores);
  const data::GraphForm& form = *head_.graph;
  check_neighbours(neighbours, form, head_.pairs);
  for (const data::GraphRecords& part : blend.parts) {
    check_form(part, form, origin_);
    if (choice.unlabelled || head_.pairs) continue;
    const std::vector<std::string> classes = classes_of(part, form.of_nodes);
    require(
        classes == head_.labels,
        "{} has the classes {}, but {} tells {}; make it with graphs.vocabulary, the store that "
        "is learnt from",
        part.records().name(), listed(classes), origin_, listed(head_.labels));
  }
  require(!asks_pairs_ || choice.fold == 0,
          "graph.fold={}, but {} tells links, which are not divided in folds; leave it out",
          choice.fold, origin_);
  std::vector<data::GraphUnit> units =
      asks_pairs_ ? link_units(blend, choice.use) : chosen_units(blend, form, choice);
  require(!units.empty(), "{} has nothing of the part that graph.part says",
          blend.parts.front().records().name());
  return {std::move(blend),
          std::move(units),
          form,
          {.units = {head_.mean, head_.deviation},
           .labelled = !choice.unlabelled,
           .hides_links = head_.pairs,
           .neighbours = neighbours}};
}

LabelAnswers TrainedGraphModel::answers(const data::GraphSamples& samples) {
  return graph_answers(model_.evaluated(batch_), samples, head_.outputs());
}

Tensor TrainedGraphModel::vectors(const data::GraphSamples& samples, int64_t places,
                                  int64_t width) {
  return all_answers(model_.evaluated(batch_), samples, samples.samples_per_epoch(), places, width);
}

void TrainedGraphModel::watch(const data::GraphSamples& samples, AttentionWatcher& watcher) {
  EvaluatedModel watched = model_.evaluated(batch_);
  watched.pass.watcher = &watcher;
  judge(watched, samples, samples.samples_per_epoch(), 0, false, [](const auto&, const auto&) {});
}

void TrainedGraphModel::share(const Tensor& numbers) {
  model_.mesh().dp().all_reduce_sum(numbers).wait();
  model_.mesh().pp().all_reduce_sum(numbers).wait();
}

std::vector<std::string> TrainedGraphModel::gathered(const std::string& bytes) {
  return model_.mesh().world().all_gather(bytes);
}

namespace {

// Graphs whose hidden states are in memory at once.
constexpr int64_t kAtOnce = 64;

data::GraphSamples part_of(const data::GraphSamples& all, int64_t first, int64_t last) {
  const auto from = all.units().begin();
  return {all.blend(), {from + first, from + last}, all.form(), all.sampling()};
}

// Those of a unit that vectors are made of.
std::vector<int32_t> nodes_of(const data::GraphSamples& samples, const data::GraphUnit& unit) {
  if (samples.form().of_nodes) return unit.nodes;
  const auto& store = samples.blend().parts[static_cast<size_t>(unit.part)];
  std::vector<int32_t> all(static_cast<size_t>(store.nodes(unit.record)));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string name_of(const data::GraphSamples& samples, const data::GraphUnit& unit) {
  return fmt::format("{}, graph {}",
                     samples.blend().parts[static_cast<size_t>(unit.part)].records().name(),
                     unit.record);
}

void add_nodes(const data::GraphSamples& part, const Tensor& all, const UseVectors& use) {
  const int64_t width = all.dim(2);
  for (int64_t number = 0; number < std::ssize(part.units()); ++number) {
    const data::GraphUnit& unit = part.units()[static_cast<size_t>(number)];
    const std::vector<int32_t> nodes = nodes_of(part, unit);
    const Tensor made = Tensor::empty({std::ssize(nodes), width}, DType::f32);
    std::vector<std::string> names;
    for (const int32_t node : nodes) {
      std::copy_n(all.data<float>() + (number * all.dim(1) + node) * width, width,
                  made.data<float>() + std::ssize(names) * width);
      names.push_back(fmt::format("{}, node {}", name_of(part, unit), node));
    }
    use(names, made);
  }
}

}  // namespace

MakeObjective vector_objective(bool of_nodes) {
  return [of_nodes](const LocalModel&) -> std::unique_ptr<Objective> {
    if (of_nodes) return std::make_unique<TokensObjective>();
    return std::make_unique<PoolingObjective>(Pool::mean);
  };
}

int64_t graph_vectors(TrainedGraphModel& model, const data::GraphSamples& samples, bool of_nodes,
                      int64_t width, const UseVectors& use) {
  int64_t done = 0;
  const UseVectors counted = [&](const auto& names, const Tensor& vectors) {
    done += std::ssize(names);
    use(names, vectors);
  };
  const int64_t count = samples.samples_per_epoch();
  for (int64_t first = 0; first < count; first += kAtOnce) {
    const data::GraphSamples part = part_of(samples, first, std::min(count, first + kAtOnce));
    const Tensor found = model.vectors(part, of_nodes ? part.nodes() : 1, width);
    if (of_nodes) {
      add_nodes(part, found, counted);
      continue;
    }
    std::vector<std::string> names;
    for (const data::GraphUnit& unit : part.units()) names.push_back(name_of(part, unit));
    counted(names, found);
  }
  return done;
}

NamedValues evaluate_graphs(const std::vector<std::string>& stores, const GraphPartConfig& config,
                            const TrainedModel& source, const ParallelConfig& parallel,
                            int64_t batch, Group& world) {
  TrainedGraphModel model(source, parallel, DType::f32, batch, world);
  const data::GraphSamples samples = model.samples(stores, config.choice, config.neighbours);
  Scores scores = graph_scores(model.head(), samples, model.answers(samples));
  log::info("{}: {}", source.info.path, scores.text);
  scores.values.emplace_back("samples", samples.samples_per_epoch());
  return scores.values;
}

}  // namespace skein::train
