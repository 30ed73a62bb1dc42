#include "skein/train/graphs/graph_task.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/models/architecture.h"
#include "skein/train/graphs/graph_scores.h"
#include "skein/train/tasks/adapting.h"

#include "train/tasks/class_task.h"
#include "train/tasks/record_blend.h"

namespace skein::train {

void bind(Options& options, GraphTaskConfig& c) {
  options.add(
      "graph.inputs", c.inputs,
      "graph: columns of the stores that nodes and links are made of, such as "
      "node_category,node_walk; one: all nodes are alike; empty: all that the model has a use "
      "for");
  options.add("graph.random", c.random,
              "graph: random numbers a node beside those, which are drawn anew in each epoch");
  options.add("graph.fold", c.fold,
              "graph: of stores that are split in folds, the one that is the test; the next one is "
              "the validation, the others are learnt; 0: the stores have no folds");
  options.add_choice("graph.target", c.target,
                     {{"auto", GraphTarget::automatic},
                      {"nodes", GraphTarget::nodes},
                      {"graphs", GraphTarget::graphs},
                      {"links", GraphTarget::links}},
                     "graph: whose labels are learnt; auto: those of the data, of graphs where "
                     "there are both; links: which pairs of nodes are linked, of stores that hide "
                     "some of their links (graphs.link_fractions)");
  options.add(
      "graph.neighbours", c.neighbours,
      "graph: of each node whose label is learnt so many neighbours are drawn, then so many "
      "of each of these, and so on, such as 10,5, and a sample is a node with these; empty: "
      "it is a whole graph");
}

void refuse_graph_options(const Options& options, const Architecture& architecture) {
  refuse_options_of<GraphTaskConfig>(
      options, fmt::format("is for graphs, but model.architecture={} reads {}; leave it out",
                           architecture.name(), name_of(architecture.reads())));
}

void check_neighbours(const std::vector<int64_t>& neighbours, const data::GraphForm& form,
                      bool pairs) {
  if (neighbours.empty()) return;
  constexpr size_t kMostHops = 16;
  constexpr int64_t kMostNeighbours = int64_t{1} << 20;
  const std::string told = fmt::format("graph.neighbours={}", fmt::join(neighbours, ","));
  require(neighbours.size() <= kMostHops, "{} are {} hops; {} are the most", told,
          neighbours.size(), kMostHops);
  for (const int64_t count : neighbours)
    require(count >= 1 && count <= kMostNeighbours, "{}: {} must be 1 to {}", told, count,
            kMostNeighbours);
  require(form.of_nodes && !pairs,
          "{} draws neighbours of nodes whose labels are told, but here it is {} that are; leave "
          "it out",
          told, pairs ? "links" : "labels of graphs");
  require(std::ranges::none_of(form.inputs,
                               [](const data::GraphInput& input) {
                                 return data::kind_of_input(input.column) ==
                                        data::GraphInputKind::distances;
                               }),
          "{}, but this model reads the distances of all nodes of a graph, so that it must see "
          "whole ones; leave it out",
          told);
}

data::GraphBlend open_graphs(const std::vector<std::string>& entries) {
  data::GraphBlend made;
  for (const std::string& text : entries) {
    add_store(text, made);
  }
  return made;
}

namespace {

// What a run learns from and is judged by.
struct GraphData {
  data::GraphBlend learnt, known;  // known: of data.validation
  std::vector<data::GraphUnit> learnt_units, known_units;
  LabelHead head;
};

class GraphTask : public ClassTask<data::GraphSamples> {
 public:
  GraphTask(const PretrainConfig& run, GraphData data, std::vector<int64_t> neighbours,
            bool adapts);

  int64_t length() const override { return training_->nodes(); }
  double links_per_node() const {
    return static_cast<double>(training_->links()) / static_cast<double>(training_->nodes());
  }
  Scores validate(const EvaluatedModel& model) const override;
  void check_notes(const TaskNotes& notes, const std::string& origin) const override;

 private:
  uint32_t checksum() const override;
  bool says_the_same(const LabelHead& before) const override;
};

GraphTask::GraphTask(const PretrainConfig& run, GraphData data, std::vector<int64_t> neighbours,
                     bool adapts)
    : ClassTask(run.loss, std::move(data.head), adapts) {
  files_ = files_of("data.train", data.learnt);
  std::ranges::move(files_of("data.validation", data.known), std::back_inserter(files_));
  data::GraphSampling sampling{{head_.mean, head_.deviation},
                               run.train.seed,
                               data::training_order(run.data.shuffle),
                               true,
                               head_.pairs,
                               std::move(neighbours)};
  const data::GraphBlend& judged = data.known.parts.empty() ? data.learnt : data.known;
  const auto make = [&](const data::GraphBlend& blend, std::vector<data::GraphUnit> units) {
    return std::make_unique<data::GraphSamples>(blend, std::move(units), *head_.graph, sampling);
  };
  training_ = make(data.learnt, std::move(data.learnt_units));
  if (data.known_units.empty()) return;
  sampling.order = data::OrderKind::once;
  validation_ = make(judged, std::move(data.known_units));
}

Scores GraphTask::validate(const EvaluatedModel& model) const {
  return graph_scores(head_, *validation_, graph_answers(model, *validation_, head_.outputs()));
}

// Of what samples are made of: the stores, and how many neighbours are drawn.
uint32_t GraphTask::checksum() const {
  uint32_t sum = checksum_of(training_->blend());
  for (const int64_t count : training_->sampling().neighbours)
    sum = sum * 31 + static_cast<uint32_t>(count);
  return sum;
}

void GraphTask::check_notes(const TaskNotes& notes, const std::string& origin) const {
  const auto stored = label_head(notes, origin);
  require_run_of("training on graphs", stored && stored->reads_graphs(), origin);
  require(stored->labels == head_.labels,
          "{} learns the classes {}, but data.train has {}; give another run.dir to begin anew",
          origin, listed(stored->labels), listed(head_.labels));
  require(*stored->graph == *head_.graph && stored->pairs == head_.pairs,
          "{} reads other parts of graphs (graph.inputs, graph.random, graph.target) than this run "
          "says; give the same, or another run.dir to begin anew",
          origin);
  require(stored->mean == head_.mean && stored->deviation == head_.deviation,
          "{} learns numbers in units of mean {} and deviation {}, but those of data.train have {} "
          "and {}; give the same graphs, or another run.dir to begin anew",
          origin, stored->mean, stored->deviation, head_.mean, head_.deviation);
  if (checksum_in(notes) != checksum()) warn_of_other_samples(origin);
}

// Of the same, in the same units.
bool GraphTask::says_the_same(const LabelHead& before) const {
  return before.labels == head_.labels && *before.graph == *head_.graph &&
         before.pairs == head_.pairs && before.mean == head_.mean &&
         before.deviation == head_.deviation;
}

bool labels_nodes(const data::GraphRecords& store, GraphTarget target) {
  if (target != GraphTarget::automatic) return target != GraphTarget::graphs;
  return !store.column(name_of(data::GraphPart::label)).has_value();
}

void check_labels(const data::GraphBlend& blend, bool of_nodes,
                  const std::vector<std::string>& classes) {
  for (const data::GraphRecords& part : blend.parts) {
    const std::vector<std::string> own = classes_of(part, of_nodes);
    require(
        own == classes,
        "{} has the classes {}, but data.train has {}; make it with graphs.vocabulary, the store "
        "of data.train",
        part.records().name(), listed(own), listed(classes));
  }
}

std::vector<double> all_numbers(const data::GraphSamples& samples) {
  std::vector<double> made;
  for (int64_t unit = 0; unit < std::ssize(samples.units()); ++unit)
    std::ranges::copy(samples.numbers(unit), std::back_inserter(made));
  return made;
}

void take_labels(GraphData& data, bool of_nodes) {
  LabelHead& head = data.head;
  if (head.pairs) {
    head.labels = {"apart", "linked"};
    return;
  }
  head.labels = classes_of(data.learnt.parts.front(), of_nodes);
  check_labels(data.learnt, of_nodes, head.labels);
  check_labels(data.known, of_nodes, head.labels);
  head.kind = head.labels.empty() ? LabelKind::regress : LabelKind::classify;
  head.metric = metric_of(head.kind, LabelMetric::automatic);
  require(head.labels.size() != 1, "all labels of data.train are \"{}\"",
          head.labels.empty() ? "" : head.labels.front());
}

std::vector<data::GraphUnit> units_of(const data::GraphBlend& blend, const LabelHead& head,
                                      const data::GraphChoice& choice) {
  if (!head.pairs) return chosen_units(blend, *head.graph, choice);
  require(choice.fold == 0, "graph.fold={}, but links are not divided in folds; leave it out",
          choice.fold);
  return link_units(blend, choice.use);
}

void take_parts(GraphData& data, const GraphTaskConfig& config) {
  using data::GraphUse;
  const LabelHead& head = data.head;
  data.learnt_units = units_of(data.learnt, head, {GraphUse::training, config.fold});
  for (size_t part = 0; part < data.learnt.parts.size(); ++part)
    require(
        std::ranges::any_of(data.learnt_units,
                            [&](const auto& unit) { return unit.part == static_cast<int>(part); }),
        "{} has no {} to learn: none is of its split's training part",
        data.learnt.parts[part].records().name(),
        head.pairs             ? "links"
        : head.graph->of_nodes ? "labels of nodes"
                               : "graphs");
  const data::GraphChoice judged{GraphUse::validation, config.fold};
  if (data.known.parts.empty()) {
    if (head.pairs || has_part(data.learnt, *head.graph, judged))
      data.known_units = units_of(data.learnt, head, judged);
    return;
  }
  data.known_units = units_of(data.known, head, judged);
  require(!data.known_units.empty(), "{} has nothing to be judged by in its split's validation",
          data.known.parts.front().records().name());
}

data::GraphForm chosen_form(const GraphData& data, const GraphTaskConfig& config,
                            const data::GraphUses& uses) {
  require(config.random >= 0 && config.random <= 65536, "graph.random={} must be 0 to 65536",
          config.random);
  data::GraphForm form = graph_form(
      data.learnt,
      data.head.pairs ? inputs_beside_links(data.learnt.parts.front(), config.inputs, uses)
                      : config.inputs,
      uses);
  form.random = config.random;
  return form;
}

// Of the model to begin from.
data::GraphForm stored_form(const GraphData& data, const GraphTaskConfig& config,
                            const TrainedModel& source) {
  const std::string& origin = source.info.path;
  const auto head = label_head(source.state.notes, origin);
  require(head && head->reads_graphs(), "the notes of {} do not say how it reads graphs", origin);
  require(config.inputs.empty() && config.random == 0,
          "graph.inputs and graph.random are those of the model to begin from, {}; leave them out",
          origin);
  for (const data::GraphRecords& part : data.learnt.parts) check_form(part, *head->graph, origin);
  if (!data.head.pairs) return *head->graph;
  std::vector<std::string> columns;
  for (const data::GraphInput& input : head->graph->inputs) columns.push_back(input.column);
  inputs_beside_links(data.learnt.parts.front(), columns,
                      source.model.architecture->graph_uses(source.model));
  return *head->graph;
}

// source: the model to begin from; null: there is none.
GraphData opened(const PretrainConfig& run, const GraphTaskConfig& config,
                 const TrainedModel* source) {
  require(!run.data.train.empty(),
          "data.train names no store of graphs; make one with `skein-data graphs`");
  GraphData made{.learnt = open_graphs(run.data.train), .known = open_graphs(run.data.validation)};
  made.head.pairs = config.target == GraphTarget::links;
  data::GraphForm form =
      source ? stored_form(made, config, *source)
             : chosen_form(made, config, run.model.architecture->graph_uses(run.model));
  form.of_nodes = labels_nodes(made.learnt.parts.front(), config.target);
  for (const data::GraphRecords& part : made.known.parts) check_form(part, form, "data.train");
  made.head.graph = form;
  check_neighbours(config.neighbours, form, made.head.pairs);
  take_labels(made, form.of_nodes);
  take_parts(made, config);
  return made;
}

data::GraphSizes sizes_in(const GraphData& data) {
  data::GraphSizes made = sizes_of(*data.head.graph, data.learnt);
  made.nodes = std::max(made.nodes, sizes_of(*data.head.graph, data.known).nodes);
  return made;
}

// Whether labels are what the last layer itself makes.
bool ends_in_labels(ModelConfig model) {
  const int64_t width = model.architecture->features(model);
  ++model.labels;
  return model.architecture->features(model) != width;
}

// What the labels say of the model.
void take_head(ModelConfig& model, const LabelHead& labels) {
  const Head head = labels.graph->of_nodes ? Head::token : Head::sequence;
  const int64_t outputs = labels.outputs();
  require((model.head == Head::vocabulary || model.head == head) &&
              (model.labels == 0 || model.labels == outputs),
          "model.head and model.labels={} are not what these graphs have: {} {}; leave both out",
          model.labels, outputs,
          labels.pairs          ? "a pair of nodes"
          : head == Head::token ? "a node"
                                : "a graph");
  model.architecture->begin_labels(model, head, outputs);
  require(!labels.pairs || !ends_in_labels(model),
          "graph.target=links tells pairs by vectors of nodes, but model.graph_form=plain makes "
          "none, since model.vector_width is 0; give model.vector_width=16, or "
          "model.graph_form=blocks");
}

// Of numbers.
void take_numbers(const PretrainConfig& run, GraphData& data) {
  if (data.head.kind == LabelKind::regress) {
    require(run.loss.label_smoothing == 0,
            "loss.label_smoothing={} is for classes, but these graphs have numbers; leave it out",
            run.loss.label_smoothing);
    take_units(data.head, all_numbers({data.learnt, data.learnt_units, *data.head.graph, {}}));
  }
}

std::unique_ptr<GraphTask> made_task(PretrainConfig& run, GraphData data,
                                     const GraphTaskConfig& config, bool adapts) {
  take_numbers(run, data);
  data::GraphSizes sizes = sizes_in(data);
  auto made = std::make_unique<GraphTask>(run, std::move(data), config.neighbours, adapts);
  sizes.links_per_node = made->links_per_node();
  const int64_t samples = made->samples().samples_per_epoch(), batch = run.train.global_batch;
  if (batch > samples)
    log::warn(
        "a step takes {} samples (train.global_batch), but data.train has {}, which are learnt "
        "several times a step; give a smaller one, or fewer ranks",
        batch, samples);
  run.model.architecture->take_graphs(run.model, sizes);
  return made;
}

}  // namespace

std::unique_ptr<Task> graph_task(PretrainConfig& run, const GraphTaskConfig& config) {
  GraphData data = opened(run, config, nullptr);
  take_head(run.model, data.head);
  if (run.lr.decay == LrConfig::Decay::automatic) run.lr.decay = LrConfig::Decay::cosine;
  return made_task(run, std::move(data), config, false);
}

std::unique_ptr<Task> finetuned_graph_task(FinetuneConfig& config, const GraphTaskConfig& graphs,
                                           const TrainedModel& source) {
  PretrainConfig& run = config.run;
  GraphData data = opened(run, graphs, &source);
  require(!ends_in_labels(source.model),
          "{} has no head that could be another one: its last layer makes the labels; give "
          "model.vector_width where it is pretrained, or model.graph_form=blocks",
          source.info.path);
  run.model.architecture->begin_labels(
      run.model, data.head.graph->of_nodes ? Head::token : Head::sequence, data.head.outputs());
  run.model.context = ModelConfig{}.context;
  auto made = made_task(run, std::move(data), graphs, true);
  fill_in_finetuning(run, config.task.epochs, made->samples().samples_per_epoch());
  return made;
}

}  // namespace skein::train
