#include "skein/train/pretraining/fold_runs.h"

#include <cmath>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/models/architecture.h"
#include "skein/train/graphs/trained_graph_model.h"
#include "skein/train/trainer.h"

namespace skein::train {

int64_t count_folds(const PretrainTaskConfig& c) {
  require(!c.run.run.dir.empty(), "run.dir is empty; name a folder for the runs of all folds");
  const Architecture& kind = *c.run.model.architecture;
  require(kind.reads() == Reads::graphs,
          "folds are those of stores of graphs, but model.architecture={} reads {}; give "
          "model.architecture=graph",
          kind.name(), name_of(kind.reads()));
  require(c.graphs.fold == 0, "graph.fold={}, but all folds are the test in turn; leave it out",
          c.graphs.fold);
  require(!c.run.data.train.empty(),
          "data.train names no store of graphs; make one with `skein-data graphs`");
  return data::fold_count(open_graphs(c.run.data.train));
}

PretrainTaskConfig run_of_fold(const PretrainTaskConfig& all, int64_t fold) {
  PretrainTaskConfig made = all;
  made.graphs.fold = fold;
  made.run.run.dir = fmt::format("{}/fold-{}", all.run.run.dir, fold);
  return made;
}

namespace {

FoldScores judged(const PretrainTaskConfig& c, Group& world) {
  const TrainedModel source = open_trained_model(c.run.run.dir, c.run.parallel.timeout, world);
  const GraphPartConfig test{{data::GraphUse::test, c.graphs.fold}, c.graphs.neighbours};
  return {c.graphs.fold, source.info.step,
          evaluate_graphs(c.run.data.train, test, source, c.run.parallel, c.run.train.micro_batch,
                          world)};
}

}  // namespace

FoldRuns train_folds(const Options& options, const PretrainTaskConfig& config, Group& world) {
  const int64_t count = count_folds(config);
  FoldRuns made;
  for (int64_t fold = 1; fold <= count; ++fold) {
    PretrainTaskConfig own = run_of_fold(config, fold);
    log::info("fold {} of {}: {}", fold, count, own.run.run.dir);
    const auto task = pretraining_task(options, own);
    const TrainResult result = train(own.run, *task, world, options.resolved());
    made.committed = made.committed || result.committed;
    made.stopped = result.stopped;
    if (made.stopped) break;
    made.folds.push_back(judged(own, world));
  }
  return made;
}

std::vector<FoldMean> means_of(const std::vector<FoldScores>& folds) {
  const auto count = static_cast<double>(folds.size());
  std::vector<FoldMean> made;
  for (const auto& [name, first] : folds.front().values) {
    double sum = 0, squares = 0;
    for (const FoldScores& fold : folds) sum += value_named(fold.values, name);
    const double mean = sum / count;
    for (const FoldScores& fold : folds) {
      const double off = value_named(fold.values, name) - mean;
      squares += off * off;
    }
    made.push_back({name, mean, folds.size() > 1 ? std::sqrt(squares / (count - 1)) : 0});
  }
  return made;
}

std::string folds_table(const std::vector<FoldScores>& folds) {
  const std::vector<FoldMean> means = means_of(folds);
  std::string text = "fold   step";
  for (const FoldMean& one : means) text += fmt::format("  {:>17}", one.name);
  for (const FoldScores& fold : folds) {
    text += fmt::format("\n{:4} {:6}", fold.fold, fold.step);
    for (const FoldMean& one : means)
      text += fmt::format("  {:17.4f}", shown_number(value_named(fold.values, one.name)));
  }
  for (const auto& [title, number] :
       {std::pair("mean", &FoldMean::mean), std::pair("deviation", &FoldMean::deviation)}) {
    text += fmt::format("\n{:11}", title);
    for (const FoldMean& one : means) text += fmt::format("  {:17.4f}", shown_number(one.*number));
  }
  return text;
}

std::string folds_json(const std::vector<FoldScores>& folds) {
  nlohmann::ordered_json json;
  for (const FoldScores& fold : folds) {
    nlohmann::ordered_json one{{"fold", fold.fold}, {"step", fold.step}};
    for (const auto& [name, value] : fold.values) one[name] = json_number(value);
    json["folds"].push_back(one);
  }
  for (const FoldMean& one : means_of(folds)) {
    json["mean"][one.name] = json_number(one.mean);
    json["deviation"][one.name] = json_number(one.deviation);
  }
  return json.dump(2) + "\n";
}

}  // namespace skein::train
