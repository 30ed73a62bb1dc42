// Matrices of numbers as shaded cells, such as who looks at whom: one picture in SVG, which
// browsers show and nothing else has to draw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skein::formats {

struct CellGrid {
  std::string title;
  int64_t rows = 0, columns = 0;
  std::vector<double> shades;  // row by row, 0 (white) to 1 (darkest)
};

struct CellPicture {
  std::string title;
  // of each row and column of every grid; none where there are too many to be read
  std::vector<std::string> row_labels, column_labels;
  std::vector<CellGrid> grids;  // of the same size
  int64_t across = 4;           // grids side by side
};

// The same picture gives the same bytes. Shades are drawn in steps of 1/64. Text may hold anything:
// none of it is read as markup, and what is no character is shown as \x1B.
std::string cells_svg(const CellPicture& picture);

}  // namespace skein::formats
