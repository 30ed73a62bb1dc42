#include "skein/formats/svg_cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"

#include "svg_page.h"

namespace skein::formats {
namespace {

constexpr int64_t kLabelled = 12, kSide = 256;
constexpr size_t kLongestSideLabel = 24;  // bytes
constexpr int kSteps = 64;

// White over a light blue to a dark one.
std::string colour_of(int step) {
  constexpr std::array<std::array<double, 3>, 3> kStops{
      {{255, 255, 255}, {66, 146, 198}, {8, 48, 107}}};
  const double along = 2.0 * step / kSteps;
  const size_t from = along < 1 ? 0 : 1;
  std::string made = "#";
  for (size_t i = 0; i < 3; ++i)
    made += fmt::format("{:02x}", std::lround(std::lerp(kStops[from][i], kStops[from + 1][i],
                                                        along - static_cast<double>(from))));
  return made;
}

int step_of(double shade) {
  return static_cast<int>(std::lround(std::clamp(shade, 0.0, 1.0) * kSteps));
}

int64_t letters_of(const std::vector<std::string>& labels) {
  size_t most = 0;
  for (const std::string& label : labels)
    most = std::max(most, excerpt(label, kLongestSideLabel).size());
  return static_cast<int64_t>(most);
}

// Where things stand in each grid.
struct Layout {
  int64_t cell, left, top, width, height;

  Layout(const CellPicture& picture, const CellGrid& grid) {
    const bool labelled = !picture.row_labels.empty() || !picture.column_labels.empty();
    const int64_t side = std::max<int64_t>({grid.rows, grid.columns, 1});
    cell = labelled ? kLabelled : std::clamp<int64_t>(kSide / side, 1, kLabelled);
    left = letters_of(picture.row_labels) * kLetter + 4;
    top = kLine + letters_of(picture.column_labels) * kLetter + 8;
    width = left + std::max(grid.columns * cell, 10 * kLetter) + kGap;
    height = top + grid.rows * cell + kGap;
  }
};

void add_labels(const CellPicture& picture, const Layout& at, std::string& svg) {
  for (size_t i = 0; i < picture.row_labels.size(); ++i)
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", at.left - 3,
                       at.top + static_cast<int64_t>(i) * at.cell + at.cell - 2,
                       svg_text(excerpt(picture.row_labels[i], kLongestSideLabel)));
  for (size_t i = 0; i < picture.column_labels.size(); ++i)
    svg += fmt::format("<text transform=\"translate({},{}) rotate(-90)\">{}</text>\n",
                       at.left + static_cast<int64_t>(i) * at.cell + at.cell - 2, at.top - 4,
                       svg_text(excerpt(picture.column_labels[i], kLongestSideLabel)));
}

// Cells of one shade beside each other are one rectangle, and all of one shade one path.
void add_cells(const CellGrid& grid, const Layout& at, std::string& svg) {
  std::map<int, std::string> paths;
  for (int64_t row = 0; row < grid.rows; ++row)
    for (int64_t begin = 0, end = 0; begin < grid.columns; begin = end) {
      const double* shades = grid.shades.data() + row * grid.columns;
      const int step = step_of(shades[begin]);
      while (end < grid.columns && step_of(shades[end]) == step) ++end;
      if (step > 0)
        paths[step] +=
            fmt::format("M{} {}h{}v{}h-{}z", at.left + begin * at.cell, at.top + row * at.cell,
                        (end - begin) * at.cell, at.cell, (end - begin) * at.cell);
    }
  for (const auto& [step, path] : paths)
    svg += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", colour_of(step), path);
}

void add_grid(const CellPicture& picture, const CellGrid& grid, const Layout& at,
              std::string& svg) {
  svg += fmt::format("<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n", at.left, kLine - 3,
                     svg_text(grid.title));
  add_cells(grid, at, svg);
  svg += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888888\"/>\n",
      at.left, at.top, grid.columns * at.cell, grid.rows * at.cell);
  add_labels(picture, at, svg);
}

void check(const CellPicture& picture) {
  SKEIN_CHECK(!picture.grids.empty() && picture.across >= 1);
  const CellGrid& first = picture.grids.front();
  const auto fits = [](const std::vector<std::string>& labels, int64_t count) {
    return labels.empty() || std::ssize(labels) == count;
  };
  SKEIN_CHECK(fits(picture.row_labels, first.rows) && fits(picture.column_labels, first.columns));
  for (const CellGrid& grid : picture.grids)
    SKEIN_CHECK(grid.rows == first.rows && grid.columns == first.columns &&
                std::ssize(grid.shades) == grid.rows * grid.columns);
}

}  // namespace

std::string cells_svg(const CellPicture& picture) {
  check(picture);
  const Layout at(picture, picture.grids.front());
  const int64_t count = std::ssize(picture.grids), across = std::min(picture.across, count),
                lines = pieces_of(count, across), head = kLine + 8;
  const int64_t width = std::max(across * at.width + kGap, svg_width_of(picture.title)),
                height = head + lines * at.height;
  std::string svg = svg_begin(width, height, picture.title);
  for (int64_t i = 0; i < count; ++i) {
    svg += fmt::format("<g transform=\"translate({},{})\">\n", kGap / 2 + i % across * at.width,
                       head + i / across * at.height);
    add_grid(picture, picture.grids[static_cast<size_t>(i)], at, svg);
    svg += "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace skein::formats
