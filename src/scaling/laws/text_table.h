// Columns for the terminal.
#pragma once

#include <string>
#include <vector>

namespace skein {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Rows indented by two, the first column to the left, the others to the right.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Significant digits; "-" for what is unknown.
std::string shown(double value, int digits = 4);

}  // namespace skein
