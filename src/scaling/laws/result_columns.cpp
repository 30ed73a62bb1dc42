#include "result_columns.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"

namespace skein::scaling {

double number_of(const std::string& text, const std::string& path, int64_t line,
                 const std::string& column) {
  std::string digits = trimmed(text);
  if (digits.starts_with('+')) digits.erase(0, 1);
  if (digits.empty()) return kUnknown;
  const auto value = parsed_number<double>(digits);
  require(value.has_value(),
          "{}:{}: \"{}\" in column {} is no number that can be read; write it as 1234.5 or 1.2e9",
          path, line, excerpt(text), column);
  return *value;
}

bool next_row(data::TableReader& reader, data::TableRow& row, size_t fields,
              const std::string& path) {
  if (!reader.next(row)) return false;
  require(row.fields.size() == fields, "{}:{}: the row has {} fields where the header has {}", path,
          row.line, row.fields.size(), fields);
  return true;
}

ResultColumns::ResultColumns(const data::TableRow& header, const std::string& path,
                             const TableOptions& options)
    : path_(path) {
  for (const std::string& field : header.fields) header_.push_back(trimmed(field));
  find_columns();
  loss_ = find({options.loss_column});
  if (loss_ < 0) miss(options.loss_column, "losses; data.loss_column names another");
  find_conditions(options.where);
  refuse_missing();
}

int ResultColumns::find(const std::vector<std::string>& names) const {
  int found = -1;
  for (size_t i = 0; i < header_.size(); ++i) {
    if (std::find(names.begin(), names.end(), header_[i]) == names.end()) continue;
    require(found < 0,
            "{}: the columns {} and {} say the same; take one away or give it another name", path_,
            header_[std::max(found, 0)], header_[i]);
    found = narrow<int>(i);
  }
  return found;
}

void ResultColumns::refuse_missing() const {
  if (missing_.empty()) return;
  std::string named, meant;
  for (const MissingColumn& one : missing_) {
    named += fmt::format("{}{} ({})",
                         named.empty()              ? ""
                         : &one == &missing_.back() ? " and "
                                                    : ", ",
                         one.wanted, one.what);
    meant += did_you_mean(one.wanted, header_);
  }
  const char* begin = missing_.size() == 1 ? "there is no column" : "there are no columns";
  fail_usage("{}: {} {}; the file has: {}{}", path_, begin, named, listed(header_), meant);
}

bool ResultColumns::found(const decltype(RunColumn::member)& member) const {
  return std::any_of(found_.begin(), found_.end(),
                     [&](const FoundColumn& one) { return one.column.member == member; });
}

void ResultColumns::find_columns() {
  for (const RunColumn& column : run_columns()) {
    const int index = column.name() == "loss" ? -1 : find(column.names);
    if (index >= 0) found_.push_back({index, column});
  }
  if (!found(&ScalingRun::n_params) && !found(&ScalingRun::n_blocks) && !found(&ScalingRun::n_all))
    miss("n_params", "numbers of parameters; n_blocks and n_all do as well");
  if (!found(&ScalingRun::tokens) && !(found(&ScalingRun::flops) && found(&ScalingRun::n_params)))
    miss("tokens", "training tokens; flops with n_params do as well");
}

void ResultColumns::find_conditions(const std::vector<std::string>& where) {
  for (const std::string& condition : where) {
    const size_t equals = condition.find('=');
    require(equals != std::string::npos, "data.where: \"{}\" is no COLUMN=VALUE", condition);
    const std::string column = trimmed(condition.substr(0, equals));
    const int index = find({column});
    if (index < 0) miss(column, "of data.where");
    conditions_.push_back({index, trimmed(condition.substr(equals + 1))});
  }
}

bool ResultColumns::wanted(const data::TableRow& row) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
    return trimmed(row.fields[condition.index]) == condition.value;
  });
}

double ResultColumns::number(const data::TableRow& row, int index) const {
  return number_of(row.fields[index], path_, row.line, header_[index]);
}

void ResultColumns::read_number(const data::TableRow& row, const FoundColumn& found,
                                ScalingRun& run) const {
  const RunColumn& column = found.column;
  const double value = number(row, found.index);
  if (const auto* whole = std::get_if<int64_t ScalingRun::*>(&column.member)) {
    require(std::isnan(value) || (value == std::floor(value) && value >= 0 && value < 9e15),
            "{}:{}: {} in column {} must be a whole number, 0 or more", path_, row.line, value,
            header_[found.index]);
    run.*(*whole) = std::isnan(value) ? 0 : static_cast<int64_t>(value);
    return;
  }
  const bool bad = std::isinf(value) || value < 0 || (value == 0 && !column.zero_allowed);
  require(!bad, "{}:{}: {} in column {} must be {} and finite", path_, row.line, value,
          header_[found.index], column.zero_allowed ? "0 or more" : "above 0");
  run.*std::get<double ScalingRun::*>(column.member) = value;
}

ScalingRun ResultColumns::run_of(const data::TableRow& row) const {
  ScalingRun run;
  run.line = row.line;
  run.loss = number(row, loss_);
  for (const FoundColumn& one : found_) {
    if (const auto* text = std::get_if<std::string ScalingRun::*>(&one.column.member))
      run.*(*text) = trimmed(row.fields[one.index]);
    else
      read_number(row, one, run);
  }
  if (run.name.empty()) run.name = fmt::format("line {}", row.line);
  if (run.status.empty()) run.status = "done";
  if (run.status == "excluded" || run.status == "outclassed") {
    run.status = "done";
    run.reason.clear();
  }
  if (run.status == "done" && trimmed(row.fields[loss_]).empty()) {
    run.status = "unfinished";
    run.reason = "no loss is given";
  }
  return run;
}

}  // namespace skein::scaling
