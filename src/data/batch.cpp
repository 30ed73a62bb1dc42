#include "skein/data/batch.h"

#include "skein/core/error.h"

namespace skein {
namespace {

constexpr Tensor Batch::* kByRow[] = {&Batch::tokens,   &Batch::targets, &Batch::weights, &Batch::positions, &Batch::segments, &Batch::sample_ids,
                                      &Batch::types,    &Batch::places,  &Batch::pair_labels, &Batch::values, &Batch::known};
constexpr Tensor Batch::* kOnDevice[] = {&Batch::tokens, &Batch::targets, &Batch::positions,   &Batch::segments, &Batch::sample_ids,
                                         &Batch::types,  &Batch::places,  &Batch::pair_labels, &Batch::values, &Batch::place_rows, &Batch::row_places};

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

}  // namespace

Batch batch_rows(const Batch& batch, int64_t begin, int64_t end) {
  Batch rows;
  for (Tensor Batch::* part : kByRow)
    if ((batch.*part).defined()) rows.*part = (batch.*part).rows(begin, end);
  return rows;
}

Batch placed(const Batch& batch, Device device) {
  Batch made = batch;
  if (made.places.defined()) number_places(made);
  for (Tensor Batch::* part : kOnDevice)
    if ((made.*part).defined()) made.*part = (made.*part).to(device);
  return made;
}

}  // namespace skein
