#include "skein/scaling/laws/results.h"

#include <cmath>
#include <numbers>

#include "skein/core/error.h"

#include "result_checks.h"
#include "result_columns.h"

namespace skein::scaling {
namespace {

constexpr int64_t kMostRowBytes = 1 << 20;
constexpr size_t kMostRuns = 100'000, kMostCurvePoints = 5'000'000;

void settle_loss(ScalingRun& run, const std::string& path, const TableOptions& options) {
  if (run.status != "done") return;
  if (!std::isfinite(run.loss)) {
    run.status = "diverged";
    run.reason = fmt::format("its loss is {}", run.loss);
    return;
  }
  require(run.loss > 0, "{}:{}: a loss of {} in column {} must be above 0", path, run.line,
          run.loss, options.loss_column);
  if (options.loss_unit == "bits") run.loss *= std::numbers::ln2;
}

void add_row(ScalingTable& table, const data::TableRow& row, const ResultColumns& columns,
             const TableOptions& options) {
  require(table.runs.size() < kMostRuns,
          "{}: more than {} runs; is this the table of runs, or their curves?", table.path,
          kMostRuns);
  table.runs.push_back(columns.run_of(row));
  settle_loss(table.runs.back(), table.path, options);
}

// 6 N D of what is there for what is not.
void complete(ScalingTable& table) {
  const bool no_tokens = !has(table, &ScalingRun::tokens),
             counted = has(table, &ScalingRun::n_params);
  const bool no_flops =
      !has(table, &ScalingRun::flops) && !has(table, &ScalingRun::flops_exact) && counted;
  for (ScalingRun& run : table.runs) {
    if (no_tokens) run.tokens = run.flops / (6 * run.n_params);
    if (no_flops) run.flops = 6 * run.n_params * run.tokens;
  }
  if (no_tokens)
    table.warnings.emplace_back("the runs' tokens are not given: taken as flops / (6 n_params)");
  if (no_flops)
    table.warnings.emplace_back("the runs' FLOPs are not given: taken as 6 n_params tokens");
}

}  // namespace

ScalingTable read_table(const std::string& path, const TableOptions& options,
                        const std::string& curves) {
  require(options.loss_unit == "nats" || options.loss_unit == "bits",
          "data.loss_unit={} is neither nats nor bits", options.loss_unit);
  ScalingTable table;
  table.path = path;
  data::TableReader reader(path, data::TableKind::csv, kMostRowBytes);
  data::TableRow row;
  require(reader.next_names(row),
          "{} is empty; a table of runs begins with the names of its columns", path);
  const size_t fields = row.fields.size();
  const ResultColumns columns(row, path, options);
  int64_t rows = 0;
  while (next_row(reader, row, fields, path)) {
    ++rows;
    if (columns.wanted(row)) add_row(table, row, columns, options);
  }
  require(!table.runs.empty(), "{} has {} rows{}", path, rows,
          rows ? ", of which data.where takes none" : "; there is nothing to fit");
  if (!options.where.empty())
    table.warnings.push_back(
        fmt::format("data.where takes {} of {} rows", table.runs.size(), rows));
  complete(table);
  check_runs(table, options);
  if (!curves.empty()) {
    require(columns.has_name(), "{} has no column run, by which the curves in {} would find theirs",
            path, curves);
    read_curves(table, curves, options, kMostCurvePoints);
  }
  return table;
}

}  // namespace skein::scaling
