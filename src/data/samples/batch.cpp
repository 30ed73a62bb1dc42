#include "skein/data/samples/batch.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "skein/core/error.h"

namespace skein {
namespace {

constexpr int64_t kPlaceMultiple = 8;

constexpr Tensor Batch::*kByRow[] = {&Batch::tokens,    &Batch::targets,  &Batch::weights,
                                     &Batch::positions, &Batch::segments, &Batch::sample_ids,
                                     &Batch::types,     &Batch::places,   &Batch::pair_labels,
                                     &Batch::values,    &Batch::known,    &Batch::lengths};
constexpr Tensor Batch::*kByToken[] = {&Batch::tokens, &Batch::positions, &Batch::segments,
                                       &Batch::types};
constexpr Tensor Batch::*kByPlace[] = {&Batch::places, &Batch::targets, &Batch::weights,
                                       &Batch::values, &Batch::known};
constexpr Tensor Batch::*kOnDevice[] = {&Batch::tokens,     &Batch::targets,     &Batch::positions,
                                        &Batch::segments,   &Batch::sample_ids,  &Batch::types,
                                        &Batch::places,     &Batch::pair_labels, &Batch::values,
                                        &Batch::place_rows, &Batch::row_places};

void number_places(Batch& batch) {
  const int64_t length = batch.length(), count = batch.places.dim(1);
  batch.place_rows = Tensor::empty({batch.size() * count}, DType::i32);
  batch.row_places = Tensor::empty({batch.size() * length}, DType::i32);
  int32_t *rows = batch.place_rows.data<int32_t>(), *places = batch.row_places.data<int32_t>();
  std::fill(places, places + batch.row_places.size(), -1);
  const int32_t* place = batch.places.data<int32_t>();
  for (int64_t i = 0; i < batch.places.size(); ++i) {
    SKEIN_CHECK(place[i] >= -1 && place[i] < length);
    const int64_t row = i / count * length + place[i];
    rows[i] = place[i] < 0 ? -1 : static_cast<int32_t>(row);
    if (place[i] < 0) continue;
    SKEIN_CHECK(places[row] < 0);
    places[row] = static_cast<int32_t>(i);
  }
}

// x [B,n,...] -> [B,count,...]
Tensor first_columns(const Tensor& x, int64_t count) {
  Shape shape = x.shape();
  shape[1] = count;
  const Tensor made = Tensor::empty(shape, x.dtype());
  const int64_t from = x.bytes() / x.dim(0), to = made.bytes() / x.dim(0);
  for (int64_t row = 0; row < x.dim(0); ++row)
    std::memcpy(made.bytes_data() + row * to, x.bytes_data() + row * from, static_cast<size_t>(to));
  return made;
}

// At least 1.
int64_t most_places(const Tensor& places) {
  const int64_t columns = places.dim(1);
  const int32_t* at = places.data<int32_t>();
  int64_t most = 1;
  for (int64_t i = 0; i < places.size(); ++i)
    if (at[i] >= 0) most = std::max(most, i % columns + 1);
  return most;
}

void keep_columns(Batch& batch, std::span<Tensor Batch::*const> parts, int64_t of, int64_t count) {
  if (count == of) return;
  for (Tensor Batch::*part : parts)
    if ((batch.*part).defined() && (batch.*part).dim(1) == of)
      batch.*part = first_columns(batch.*part, count);
}

}  // namespace

Tensor filled(int64_t rows, int64_t columns, int32_t value) {
  return Tensor::from(std::vector<int32_t>(static_cast<size_t>(rows * columns), value),
                      {rows, columns});
}

int64_t rounded_length(int64_t length, int64_t multiple, int64_t most) {
  int64_t step = multiple;
  while (step * 16 < length) step *= 2;
  return std::min((length + step - 1) / step * step, most);
}

Batch trimmed(const Batch& batch, int64_t multiple) {
  if (!batch.lengths.defined()) return batch;
  Batch made = batch;
  const auto lengths = batch.lengths.span<int32_t>();
  const int64_t longest = std::max(1, *std::max_element(lengths.begin(), lengths.end())),
                length = batch.length();
  SKEIN_CHECK(longest <= length);
  keep_columns(made, kByToken, length, rounded_length(longest, multiple, length));
  if (!batch.places.defined()) return made;
  const int64_t places = batch.places.dim(1);
  keep_columns(made, kByPlace, places,
               rounded_length(most_places(batch.places), kPlaceMultiple, places));
  return made;
}

Batch batch_rows(const Batch& batch, int64_t begin, int64_t end) {
  Batch rows;
  for (Tensor Batch::*part : kByRow)
    if ((batch.*part).defined()) rows.*part = (batch.*part).rows(begin, end);
  return rows;
}

Batch placed(const Batch& batch, Device device) {
  Batch made = batch;
  if (made.places.defined()) number_places(made);
  for (Tensor Batch::*part : kOnDevice)
    if ((made.*part).defined()) made.*part = (made.*part).to(device);
  return made;
}

}  // namespace skein
