// Columns and lists for the terminal.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <string>
#include <vector>

namespace skein::scaling {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Rows indented by two, the first column to the left, the others to the right.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// The first so many between commas, then ", ..." for any others.
template <class Item>
std::string first_of(const std::vector<Item>& items, size_t most) {
  const std::span shown(items.data(), std::min(most, items.size()));
  return fmt::format("{}{}", fmt::join(shown, ", "), items.size() > most ? ", ..." : "");
}

// Significant digits; "-" for what is unknown.
std::string shown(double value, int digits = 4);

}  // namespace skein::scaling
