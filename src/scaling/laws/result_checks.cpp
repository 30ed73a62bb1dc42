#include "result_checks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/data/records/table.h"

#include "result_columns.h"
#include "text_table.h"

namespace skein::scaling {
namespace {

constexpr double kFlopsOff = 0.2;
// Above the natural logarithm of a vocabulary of a million.
constexpr double kMostNats = 14;

using Numbers = std::vector<double>;

// NaN, which equals nothing, as -1.
double comparable(double value) { return std::isnan(value) ? -1 : value; }

Numbers numbers_of(const ScalingRun& run) {
  Numbers numbers;
  for (const double value :
       {run.n_params, run.n_blocks, run.n_embedding, run.n_head, run.n_all, run.tokens,
        run.unique_tokens, run.flops, run.flops_exact, run.lr, run.global_batch, run.loss})
    numbers.push_back(comparable(value));
  for (const int64_t value :
       {run.seed, run.d_model, run.n_layers, run.n_heads, run.vocab_size, run.context})
    numbers.push_back(value);
  return numbers;
}

bool same(const ScalingRun& one, const ScalingRun& other) {
  return one.status == other.status && numbers_of(one) == numbers_of(other);
}

using Lines = std::vector<int64_t>;

// "lines 3, 4".
std::string text_of(const Lines& lines) {
  return fmt::format("{} {}", lines.size() == 1 ? "line" : "lines", first_of(lines, 10));
}

Lines lines_where(const ScalingTable& table,
                  const std::function<bool(const ScalingRun&)>& condition) {
  Lines lines;
  for (const ScalingRun& run : table.runs)
    if (run.status == "done" && condition(run)) lines.push_back(run.line);
  return lines;
}

void drop_repeated(ScalingTable& table) {
  std::unordered_map<std::string, size_t> by_name;
  std::vector<ScalingRun> kept;
  Lines repeated;
  for (ScalingRun& run : table.runs) {
    const auto [at, is_new] = by_name.emplace(run.name, kept.size());
    if (is_new) {
      kept.push_back(std::move(run));
      continue;
    }
    const ScalingRun& first = kept[at->second];
    require(same(first, run),
            "{}:{}: run {} stands on line {} already, with other numbers; give every run a name of "
            "its own",
            table.path, run.line, run.name, first.line);
    repeated.push_back(run.line);
  }
  table.runs = std::move(kept);
  if (!repeated.empty())
    table.warnings.push_back(fmt::format(
        "{} say again what an earlier line says of the same run; kept once", text_of(repeated)));
}

void warn_of_equal(ScalingTable& table) {
  std::map<Numbers, int64_t> seen;
  Lines equal;
  for (const ScalingRun& run : table.runs)
    if (run.status == "done" && !seen.emplace(numbers_of(run), run.line).second)
      equal.push_back(run.line);
  if (!equal.empty())
    table.warnings.push_back(
        fmt::format("{}: the same numbers as an earlier line; fitted once", text_of(equal)));
}

void refuse_gaps(const ScalingTable& table) {
  const auto refuse = [&](const char* column, double ScalingRun::*field) {
    const Lines gaps =
        lines_where(table, [&](const ScalingRun& run) { return std::isnan(run.*field); });
    require(
        gaps.empty(),
        "{}: column {} is empty or nan on {}; fill it, or give the run a status other than done",
        table.path, column, text_of(gaps));
  };
  refuse("tokens", &ScalingRun::tokens);
  if (has(table, &ScalingRun::n_params)) refuse("n_params", &ScalingRun::n_params);
  if (has(table, &ScalingRun::flops)) refuse("flops", &ScalingRun::flops);
}

void warn_of_flops(ScalingTable& table) {
  double worst = 1;
  const auto ratio = [](const ScalingRun& run) {
    return run.flops / (6 * run.n_params * run.tokens);
  };
  const Lines off = lines_where(table, [&](const ScalingRun& run) {
    const bool is_off = std::abs(ratio(run) - 1) > kFlopsOff;
    if (is_off && std::abs(std::log(ratio(run))) > std::abs(std::log(worst))) worst = ratio(run);
    return is_off;
  });
  if (!off.empty())
    table.warnings.push_back(fmt::format(
        "flops of {} runs are not 6 n_params tokens within {:.0f}% (up to {:.3g} times): {}",
        off.size(), 100 * kFlopsOff, worst, text_of(off)));
}

void warn_of_units(ScalingTable& table, const TableOptions& options) {
  const bool bits_by_name = options.loss_column.find("bit") != std::string::npos ||
                            options.loss_column.find("bpb") != std::string::npos;
  if (bits_by_name && options.loss_unit == "nats")
    table.warnings.push_back(
        fmt::format("column {} sounds like bits, but is read as nats; if it is bits a token, give "
                    "data.loss_unit=bits",
                    options.loss_column));
  const auto warn = [&](const Lines& lines, const std::string& text) {
    if (!lines.empty()) table.warnings.push_back(text + ": " + text_of(lines));
  };
  warn(lines_where(table,
                   [](const ScalingRun& run) {
                     return run.vocab_size > 1 && run.loss > std::log(run.vocab_size);
                   }),
       "losses above the logarithm of vocab_size, worse than guessing (are they bits? "
       "data.loss_unit)");
  warn(lines_where(table, [](const ScalingRun& run) { return run.loss > kMostNats; }),
       fmt::format("losses above {} nats a token (are they perplexities?)", kMostNats));
}

void warn_of_statuses(ScalingTable& table) {
  std::map<std::string, Lines> unknown;
  for (const ScalingRun& run : table.runs)
    if (run.status != "done" && run.status != "diverged" && run.status != "failed" &&
        run.status != "unfinished")
      unknown[run.status].push_back(run.line);
  for (const auto& [status, lines] : unknown)
    table.warnings.push_back(fmt::format(
        "runs of status \"{}\" are kept out, only those that are \"done\" are fitted: {}", status,
        text_of(lines)));
}

std::unordered_map<std::string, ScalingRun*> by_name(ScalingTable& table) {
  std::unordered_map<std::string, ScalingRun*> runs;
  for (ScalingRun& run : table.runs) runs[run.name] = &run;
  return runs;
}

// Where points say when they are by steps: tokens < 0.
struct CurveColumns {
  int run = -1, tokens = -1, step = -1, loss = -1;
  size_t count = 0;
};

CurveColumns curve_columns(const data::TableRow& header, const std::string& path) {
  std::vector<std::string> found;
  for (const std::string& field : header.fields) found.push_back(trimmed(field));
  const auto find = [&](std::initializer_list<const char*> names) {
    for (size_t i = 0; i < found.size(); ++i)
      for (const char* name : names)
        if (found[i] == name) return narrow<int>(i);
    return -1;
  };
  const CurveColumns columns{find({"run", "run_id"}), find({"tokens", "n_tokens"}),
                             find({"step", "steps"}), find({"loss"}), header.fields.size()};
  std::vector<std::string> missing;
  if (columns.run < 0) missing.emplace_back("run");
  if (columns.tokens < 0 && columns.step < 0) missing.emplace_back("tokens (or step)");
  if (columns.loss < 0) missing.emplace_back("loss");
  require(missing.empty(),
          "{}: there {} {}; curves are CSV with the columns run, tokens, loss, or run, step, loss; "
          "the file has: {}",
          path, missing.size() == 1 ? "is no column" : "are no columns", fmt::join(missing, ", "),
          listed(found));
  return columns;
}

// What one step of the run trains on; kUnknown: the table does not say.
double tokens_a_step(const ScalingRun& run) {
  return run.global_batch > 0 ? run.global_batch : run.tokens / run.steps;
}

// A point of a row, its run found.
CurvePoint curve_point(const data::TableRow& row, const CurveColumns& columns,
                       const ScalingRun& run, const std::string& path, const std::string& table) {
  const auto number = [&](int column, const char* name) {
    return number_of(row.fields[column], path, row.line, name);
  };
  const double loss = number(columns.loss, "loss");
  if (columns.tokens >= 0) return {number(columns.tokens, "tokens"), loss};
  const double each = tokens_a_step(run);
  require(std::isfinite(each) && each > 0,
          "{}:{}: a point of run {} is at a step, and {} does not say how many tokens a step of it "
          "has; give it the column global_batch (tokens) or steps, or the curves the column tokens",
          path, row.line, run.name, table);
  return {number(columns.step, "step") * each, loss};
}

bool usable(const CurvePoint& point) {
  return std::isfinite(point.tokens) && point.tokens > 0 && std::isfinite(point.loss) &&
         point.loss > 0;
}

}  // namespace

bool has(const ScalingTable& table, double ScalingRun::*field) {
  return std::ranges::any_of(
      table.runs, [&](double value) { return !std::isnan(value); }, field);
}

void check_runs(ScalingTable& table, const TableOptions& options) {
  drop_repeated(table);
  warn_of_equal(table);
  refuse_gaps(table);
  warn_of_statuses(table);
  warn_of_flops(table);
  warn_of_units(table, options);
}

void read_curves(ScalingTable& table, const std::string& path, const TableOptions& options,
                 size_t most_points) {
  data::TableReader reader(path, data::TableKind::csv, 1 << 20);
  data::TableRow row;
  require(reader.next_names(row),
          "{} is empty; curves are CSV with the columns run, tokens, loss, or run, step, loss",
          path);
  const CurveColumns columns = curve_columns(row, path);
  const auto runs = by_name(table);
  std::unordered_set<std::string> strangers;
  Lines unusable;
  size_t points = 0;
  while (next_row(reader, row, columns.count, path)) {
    require(++points <= most_points, "{}: more than {} points; log fewer", path, most_points);
    const std::string name = trimmed(row.fields[columns.run]);
    const auto run = runs.find(name);
    if (run == runs.end()) {
      strangers.insert(name);
      continue;
    }
    CurvePoint point = curve_point(row, columns, *run->second, path, table.path);
    if (options.loss_unit == "bits") point.loss *= 0.69314718055994530942;
    if (usable(point))
      run->second->curve.push_back(point);
    else
      unusable.push_back(row.line);
  }
  for (ScalingRun& run : table.runs) std::ranges::sort(run.curve, {}, &CurvePoint::tokens);
  if (!strangers.empty())
    table.warnings.push_back(fmt::format("{}: {} runs that {} does not have, such as {}", path,
                                         strangers.size(), table.path, *strangers.begin()));
  if (!unusable.empty())
    table.warnings.push_back(fmt::format("{}: points without a loss or tokens above 0 left out: {}",
                                         path, text_of(unusable)));
}

}  // namespace skein::scaling
