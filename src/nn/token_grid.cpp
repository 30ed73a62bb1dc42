#include "skein/nn/token_grid.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein {
namespace {

// By window and place in it, of (row, column) in the rolled grid.
template <class Of>
std::vector<int32_t> by_window(const GridWindows& w, const Of& of) {
  std::vector<int32_t> made;
  for (int64_t top = 0; top < w.padded_rows(); top += w.side)
    for (int64_t left = 0; left < w.padded_columns(); left += w.side)
      for (int64_t row = top; row < top + w.side; ++row)
        for (int64_t column = left; column < left + w.side; ++column)
          made.push_back(narrow<int32_t>(of(row, column)));
  return made;
}

// Numbers for each of `samples` that are the same in all.
Tensor repeated(const std::vector<int32_t>& one, int64_t samples, const Shape& shape,
                Device device) {
  std::vector<int32_t> all;
  for (int64_t sample = 0; sample < samples; ++sample)
    all.insert(all.end(), one.begin(), one.end());
  return Tensor::from(all, shape).to(device);
}

// Each id so many times, one after the other.
Tensor repeated_ids(const Tensor& ids, int64_t times) {
  const Tensor known = ids.to(Device{}), made = Tensor::empty({ids.size() * times}, DType::i64);
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<int64_t>()[i] = known.data<int64_t>()[i / times];
  return made.to(ids.device());
}

std::vector<int32_t> merged_tokens(int64_t rows, int64_t columns) {
  std::vector<int32_t> made;
  const auto token = [&](int64_t row, int64_t column) {
    return row < rows && column < columns ? narrow<int32_t>(row * columns + column) : -1;
  };
  for (int64_t row = 0; row < rows; row += 2)
    for (int64_t column = 0; column < columns; column += 2)
      made.insert(made.end(), {token(row, column), token(row + 1, column), token(row, column + 1),
                               token(row + 1, column + 1)});
  return made;
}

NormSpec norm_of(const std::string& name, const PatchMergingSpec& spec) {
  NormSpec made = spec.norm;
  made.name = name + ".norm";
  made.width *= 4;
  return made;
}

}  // namespace

GridWindows fitting_windows(int64_t rows, int64_t columns, int64_t side, bool shifted) {
  const int64_t least = std::min(rows, columns);
  if (least <= side) return {rows, columns, least, 0};
  return {rows, columns, side, shifted ? side / 2 : 0};
}

std::vector<int32_t> tokens_of(const GridWindows& w) {
  return by_window(w, [&](int64_t rolled_row, int64_t rolled_column) -> int64_t {
    const int64_t row = (rolled_row + w.shift) % w.padded_rows(),
                  column = (rolled_column + w.shift) % w.padded_columns();
    return row < w.rows && column < w.columns ? row * w.columns + column : -1;
  });
}

std::vector<int32_t> regions_of(const GridWindows& w) {
  const auto part = [&](int64_t at, int64_t length) {
    return (at >= length - w.side) + (at >= length - w.shift);
  };
  return by_window(w, [&](int64_t row, int64_t column) {
    return 3 * part(row, w.padded_rows()) + part(column, w.padded_columns());
  });
}

std::vector<int32_t> offsets_in_window(int64_t side) {
  std::vector<int32_t> made;
  const int64_t places = side * side;
  for (int64_t query = 0; query < places; ++query)
    for (int64_t key = 0; key < places; ++key)
      made.push_back(narrow<int32_t>((query / side - key / side + side - 1) * (2 * side - 1) +
                                     query % side - key % side + side - 1));
  return made;
}

WindowSight::WindowSight(Parameters& parameters, const std::string& name, int64_t heads,
                         const GridWindows& windows, double deviation)
    : windows_(windows),
      device_(parameters.device()),
      table_(parameters.add({.name = name + ".weight",
                             .shape = {heads, (2 * windows.side - 1) * (2 * windows.side - 1)},
                             .split = Split::columns,
                             .start = {Start::normal, deviation},
                             .meets = RowKind::looked_up})) {
  SKEIN_CHECK(windows.shift < windows.side);
}

Var WindowSight::cut(const Var& x) const {
  SKEIN_CHECK_EQ(x.shape()[1], tokens());
  const int64_t samples = x.shape()[0];
  // Blocks of a CUDA grid's third dim.
  constexpr int64_t kMostOnGpu = 65535;
  require(
      device_.kind == DeviceKind::cpu || samples * windows_.count() <= kMostOnGpu,
      "{} pictures of {} windows each are more than the {} windows that attention on a GPU takes "
      "at once; take fewer (train.micro_batch, eval.batch)",
      samples, windows_.count(), kMostOnGpu);
  const Var taken =
      ops::take_rows(x, ops::choose_rows(tokens_of(windows_), tokens(), samples, device_));
  return ops::reshape(taken, {samples * windows_.count(), windows_.places(), x.shape()[2]});
}

Var WindowSight::joined(const Var& y) const {
  const int64_t samples = y.shape()[0] / windows_.count();
  const ops::RowChoice cut = ops::choose_rows(tokens_of(windows_), tokens(), samples, device_);
  return ops::take_rows(
      ops::reshape(y, {samples, windows_.count() * windows_.places(), y.shape()[2]}),
      {cut.back, cut.rows});
}

Var WindowSight::bias(int64_t samples) const {
  const int64_t places = windows_.places();
  const Var made = ops::distance_bias(
      table_, samples,
      kernels::in_buckets(offsets_in_window(windows_.side), table_.value().dim(1), device_));
  return ops::reshape(made, {samples, made.shape()[1], places, places});
}

void WindowSight::confine(int64_t samples, ops::AttentionArguments& how) const {
  const int64_t count = windows_.count();
  const Shape shape{samples * count, windows_.places()};
  how.pattern = ops::Pattern::full();
  if (windows_.shift > 0)
    how.pattern.query_segments = how.pattern.key_segments =
        repeated(regions_of(windows_), samples, shape, device_);
  if (how.dropout <= 0) return;
  // A token's number in its sample; what the grid was filled up with is behind all tokens.
  std::vector<int32_t> places = tokens_of(windows_);
  for (auto behind = narrow<int32_t>(tokens()); int32_t & place : places)
    if (place < 0) place = behind++;
  how.pattern.query_places = how.pattern.key_places = repeated(places, samples, shape, device_);
  how.sample_ids = repeated_ids(how.sample_ids, count);
}

PatchMerging::PatchMerging(Parameters& parameters, const std::string& name,
                           const PatchMergingSpec& spec)
    : spec_(spec),
      norm_(parameters, norm_of(name, spec)),
      reduction_(parameters, {.name = name + ".reduction",
                              .inputs = 4 * spec.norm.width,
                              .outputs = 2 * spec.norm.width,
                              .bias = false,
                              .deviation = spec.deviation}) {
  parameters.add_cost(KeptCost{.whole = 8 * spec.norm.width, .input = 4 * spec.norm.width});
}

Var PatchMerging::operator()(const Var& x, const Pass& pass) const {
  const int64_t samples = x.shape()[0], tokens = spec_.rows * spec_.columns;
  const std::vector<int32_t> rows = merged_tokens(spec_.rows, spec_.columns);
  SKEIN_CHECK_EQ(x.shape()[1], tokens);
  const Var taken = ops::take_rows(x, ops::choose_rows(rows, tokens, samples, x.value().device()));
  return reduction_(norm_(ops::reshape(taken, {samples, std::ssize(rows) / 4, 4 * x.shape()[2]})),
                    pass);
}

}  // namespace skein
