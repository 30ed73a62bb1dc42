// Which columns of a CSV file of runs say what.
#pragma once

#include <string>
#include <vector>

#include "skein/data/records/table.h"
#include "skein/scaling/laws/results.h"

#include "run_columns.h"

namespace skein::scaling {

// A number that a field of a row spells, blanks around it aside; kUnknown for an empty one. Usage
// errors name file, line and column.
double number_of(const std::string& text, const std::string& path, int64_t line,
                 const std::string& column);

// The next row, which has so many fields; false at the end.
bool next_row(data::TableReader& reader, data::TableRow& row, size_t fields,
              const std::string& path);

class ResultColumns {
 public:
  // A usage error that names all columns that are needed and missing, and one where two columns say
  // the same.
  ResultColumns(const data::TableRow& header, const std::string& path, const TableOptions& options);

  // Whether the row is asked for by TableOptions::where.
  bool wanted(const data::TableRow& row) const;
  // Of a row as long as the header; the loss as it stands in the file.
  ScalingRun run_of(const data::TableRow& row) const;

  bool has_name() const { return found(&ScalingRun::name); }

 private:
  struct FoundColumn {
    int index;
    const RunColumn& column;
  };
  struct Condition {
    int index;
    std::string value;
  };

  int find(const std::vector<std::string>& names) const;
  void miss(const std::string& wanted, const std::string& what) {
    missing_.push_back({wanted, what});
  }
  void refuse_missing() const;
  void find_columns();
  bool found(const decltype(RunColumn::member)& member) const;
  void find_conditions(const std::vector<std::string>& where);
  double number(const data::TableRow& row, int index) const;
  void read_number(const data::TableRow& row, const FoundColumn& found, ScalingRun& run) const;

  // A column that is not there, and what it would say.
  struct MissingColumn {
    std::string wanted, what;
  };

  std::string path_;
  std::vector<std::string> header_;
  std::vector<MissingColumn> missing_;
  std::vector<FoundColumn> found_;  // but the loss
  std::vector<Condition> conditions_;
  int loss_ = -1;
};

}  // namespace skein::scaling
