#include <filesystem>

#include "skein/core/error.h"
#include "skein/scaling/laws/results_store.h"
#include "skein/scaling/study/study.h"

#include "names.h"

namespace skein::scaling::study {
namespace {

bool is_store(const std::string& path) { return path.ends_with(".h5") || path.ends_with(".hdf5"); }

// What the runs of a sweep's folder were trained with stands in its store alone.
void add_settings(const std::string& store, ScalingTable& table) {
  std::error_code ignored;
  if (!std::filesystem::exists(store, ignored)) return;
  try {
    table.settings = common_settings(read_store_settings(store));
  } catch (const Error& error) {
    if (error.code() == ExitCode::internal) throw;
    table.warnings.push_back(
        fmt::format("what the runs were trained with is not known: {}", error.what()));
  }
}

ScalingTable read_runs(const std::string& path, const std::string& curves,
                       const TableOptions& options) {
  if (!is_store(path)) return read_table(path, options, curves);
  const TableOptions usual;
  require(options.where.empty() && curves.empty() && options.loss_column == usual.loss_column &&
              options.loss_unit == usual.loss_unit,
          "{} is a sweep's store, which has its curves, no other rows, and held-out losses in "
          "nats; data.where, data.curves, data.loss_column and data.loss_unit are for CSV",
          path);
  return read_store(path);
}

}  // namespace

void bind(Options& options, StudyInput& input) {
  options.add("data.curves", input.curves,
              "CSV file of the runs' learning curves: run, tokens or step, loss; curves.csv of a "
              "sweep's folder is found");
  options.add("data.where", input.table.where,
              "COLUMN=VALUE, ...: rows that say all of this, and no others");
  options.add("data.loss_column", input.table.loss_column, "the column with the losses");
  options.add("data.loss_unit", input.table.loss_unit, "nats or bits a token");
  options.add("fit.drop_highest_losses", input.exclusions.highest_losses,
              "leave out runs with one of the so many highest losses", "runs");
  options.add("fit.least_tokens", input.exclusions.least_tokens, "leave out runs trained on fewer",
              "tokens");
  options.add("fit.best_settings", input.exclusions.best_settings,
              "of a model and its tokens take the best learning rate and batch size alone");
}

ScalingTable read_input(const StudyInput& input) {
  namespace fs = std::filesystem;
  require(!input.path.empty(),
          "no table of runs is named; give a CSV file, or the folder of a sweep");
  std::string path = input.path, curves = input.curves, store;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    const fs::path folder = path;
    require(fs::exists(folder / "results.csv", ignored),
            "{} is a folder without results.csv; give the folder of a sweep, or a CSV file", path);
    path = folder / "results.csv";
    store = folder / "results.h5";
    if (curves.empty() && fs::exists(folder / "curves.csv", ignored))
      curves = folder / "curves.csv";
  }
  ScalingTable table = read_runs(path, curves, input.table);
  if (!store.empty()) add_settings(store, table);
  exclude(table, input.exclusions);
  return table;
}

void bind(Options& options, StudyOptions& study) {
  options.add_choice("fit.approach", study.approach,
                     {{"all", Approach::all},
                      {"envelope", Approach::envelope},
                      {"isoflop", Approach::isoflop},
                      {"parametric", Approach::parametric}},
                     "of Hoffmann et al.: envelope is 1, isoflop 2, parametric 3");
  options.add_choice(
      "fit.law", study.law, kLaws,
      "one law alone, without the approaches: L(N), L(D), L(C), or one of those beside approach 3");
  options.add("fit.curves", study.curve_points,
              "of each learning curve, that approach 3 is fitted to beside the runs' ends, evenly "
              "in ln tokens",
              "points");
  options.add_choice("fit.parameters", study.convention.parameters, kParameterCounts,
                     "parameters counted as N; given: column n_params, else all");
  options.add_choice("fit.flops", study.convention.flops, kFlopCounts,
                     "FLOPs counted as C; given: column flops, else flops_exact, else 6 N D");
  options.add("fit.conventions", study.all_conventions,
              "fit under every other way of counting as well, for the exponents");
  options.add_choice("fit.loss", study.parametric.kind, kLossKinds,
                     "of residuals of ln L, approach 3");
  options.add("fit.delta", study.parametric.delta,
              "where the Huber loss turns from squares to absolute values");
  options.add("fit.every_start", study.parametric.every_start,
              "try all 4,500 starts of Hoffmann et al. instead of the best of a scored grid");
  options.add("fit.resamples", study.parametric.resamples, "of runs, for intervals; 0: none",
              "resamples");
  options.add("fit.seed", study.parametric.seed, "of the resamples");
  options.add("fit.threads", study.parametric.threads,
              "0: as many as OMP_NUM_THREADS says, else all of this machine", "threads");
  options.add("fit.budget_tolerance", study.isoflop.tolerance,
              "runs whose FLOPs are within so much are of one budget");
  options.add("fit.budget_runs", study.isoflop.fewest_runs,
              "budgets with fewer do not count, approach 2", "runs");
  options.add("fit.target", study.target, "predict for this budget; 0: ten times the largest",
              "FLOPs");
}

}  // namespace skein::scaling::study
