#include "skein/models/resized_pictures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "skein/core/error.h"
#include "skein/models/architecture.h"
#include "skein/models/description.h"

namespace skein {
namespace {

struct Grid {
  int64_t rows, columns;
};

Grid grid_of(const data::PictureForm& form) {
  return {form.height / form.patch_height, form.width / form.patch_width};
}

// The four nearest of `before` places to place i of `now`, and their shares.
struct Taps {
  std::array<int64_t, 4> places;
  std::array<double, 4> shares;
};

Taps taps_at(int64_t i, int64_t before, int64_t now) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const double scale = static_cast<double>(before) / static_cast<double>(now),
               at = (static_cast<double>(i) + 0.5) * scale - 0.5, floor = std::floor(at),
               rest = at - floor;
  Taps made{{}, {far(rest + 1), near(rest), near(1 - rest), far(2 - rest)}};
  for (int64_t tap = 0; tap < 4; ++tap)
    made.places[tap] = std::clamp<int64_t>(static_cast<int64_t>(floor) + tap - 1, 0, before - 1);
  return made;
}

std::vector<Taps> taps(int64_t before, int64_t now) {
  std::vector<Taps> made;
  for (int64_t i = 0; i < now; ++i) made.push_back(taps_at(i, before, now));
  return made;
}

// Adds the position of one patch to the end of `into`.
void add_patch(const float* grid, int64_t columns, int64_t width, const Taps& row,
               const Taps& column, std::vector<float>& into) {
  for (int64_t i = 0; i < width; ++i) {
    double sum = 0;
    for (size_t down = 0; down < 4; ++down) {
      double of_row = 0;
      for (size_t along = 0; along < 4; ++along)
        of_row += column.shares[along] *
                  grid[(row.places[down] * columns + column.places[along]) * width + i];
      sum += row.shares[down] * of_row;
    }
    into.push_back(static_cast<float>(sum));
  }
}

}  // namespace

std::string told_resizing(const data::PictureForm& from, const data::PictureForm& to,
                          Positions positions) {
  const Grid before = grid_of(from), now = grid_of(to);
  const char* const what =
      positions == Positions::learned      ? "learned positions are resized bicubically"
      : positions == Positions::sinusoidal ? "positions by waves are made anew"
                                           : "offsets within windows keep their biases";
  return fmt::format(
      "pictures of {} x {} pixels (height, width) instead of {} x {}: {}, from a grid of {} x {} "
      "patches to one of {} x {}",
      to.height, to.width, from.height, from.width, what, before.rows, before.columns, now.rows,
      now.columns);
}

void check_resized(const ModelConfig& before, const ModelConfig& now) {
  Parameters described(DType::f32, 0, 1);
  describe(now, whole_piece(now), described);
  const TensorShapes held = tensor_shapes(before, whole_piece(before));
  const data::PictureForm form = now.architecture->picture_form(now);
  for (const Parameter& one : described.all()) {
    const auto found = held.find(one.tensor());
    if (one.constant || one.part.kind == Part::embedding || found == held.end()) continue;
    require(found->second == one.shape.dims(),
            "with model.image_height={} and model.image_width={} windows within a grid of patches "
            "would have another side than those that the model knows: {} would be {} instead of "
            "{}; give pictures whose grids its windows fit as before",
            form.height, form.width, one.tensor(), one.shape, Shape(found->second));
  }
}

std::vector<float> resized_positions(std::span<const float> positions,
                                     const data::PictureForm& from, const data::PictureForm& to) {
  SKEIN_CHECK_EQ(from.class_token, to.class_token);
  const Grid before = grid_of(from), now = grid_of(to);
  const int64_t ahead = from.class_token ? 1 : 0, places = before.rows * before.columns + ahead,
                width = std::ssize(positions) / places;
  SKEIN_CHECK_EQ(width * places, std::ssize(positions));
  std::vector<float> made(positions.begin(), positions.begin() + ahead * width);
  const std::vector<Taps> rows = taps(before.rows, now.rows),
                          columns = taps(before.columns, now.columns);
  for (const Taps& row : rows)
    for (const Taps& column : columns)
      add_patch(positions.data() + ahead * width, before.columns, width, row, column, made);
  return made;
}

}  // namespace skein
