#include <cmath>
#include <fmt/format.h>

#include "skein/core/strings.h"

#include "run_columns.h"

namespace skein::scaling {
namespace {

std::string field(const std::string& text) { return csv_field(text); }
std::string field(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }
std::string field(int64_t value) { return fmt::format("{}", value); }

// FLOPs as they are given stand in tables of others; ours have them by two counts instead.
bool counted_twice(const RunColumn& column) { return column.name() == "flops"; }

std::string field(const ScalingRun& run, const RunColumn& column) {
  const auto* whole = std::get_if<int64_t ScalingRun::*>(&column.member);
  if (whole && run.*(*whole) == 0 && !column.zero_allowed) return "";
  return std::visit([&](auto member) { return field(run.*member); }, column.member);
}

std::string header() {
  std::vector<std::string> names;
  for (const RunColumn& column : run_columns())
    names.push_back(counted_twice(column) ? "flops_6n,flops_6n_head" : column.name());
  return fmt::format("{}\n", fmt::join(names, ","));
}

std::string line_of(const ScalingRun& run) {
  const Convention all{ParameterCount::all, FlopCount::six_n},
      head{ParameterCount::blocks_head, FlopCount::six_n_head};
  std::vector<std::string> fields;
  for (const RunColumn& column : run_columns())
    fields.push_back(counted_twice(column)
                         ? field(flops_of(run, all)) + "," + field(flops_of(run, head))
                         : field(run, column));
  return fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace

std::string table_csv(const std::vector<ScalingRun>& runs) {
  std::string text = header();
  for (const ScalingRun& run : runs) text += line_of(run);
  return text;
}

std::string curves_csv(const std::vector<ScalingRun>& runs) {
  std::string text = "run,tokens,loss\n";
  for (const ScalingRun& run : runs)
    for (const CurvePoint& point : run.curve)
      text += fmt::format("{},{},{}\n", field(run.name), field(point.tokens), field(point.loss));
  return text;
}

}  // namespace skein::scaling
