#include "skein/data/samples/batch.h"

#include <algorithm>
#include <cstring>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/data/samples/batch_fields.h"
#include "skein/data/samples/source.h"

#include "data/files/ordered_workers.h"

namespace skein::data {
namespace {

constexpr int64_t kPlaceMultiple = 8;

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
    rows[i] = place[i] < 0 ? -1 : narrow<int32_t>(row);
    if (place[i] < 0) continue;
    SKEIN_CHECK(places[row] < 0);
    places[row] = narrow<int32_t>(i);
  }
}

// x [B,n,...] -> [B,count,...]
Tensor first_columns(const Tensor& x, int64_t count) {
  Shape shape = x.shape();
  shape[1] = count;
  const Tensor made = Tensor::empty(shape, x.dtype());
  const int64_t from = x.bytes() / x.dim(0), to = made.bytes() / x.dim(0);
  for (int64_t row = 0; row < x.dim(0); ++row)
    std::memcpy(made.bytes_data() + row * to, x.bytes_data() + row * from, to);
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

// Tensors that have other columns than `of` stay: weights of samples, not of their places.
void keep_columns(Tensor& part, int64_t of, int64_t count) {
  if (count == of || !part.defined() || part.dim(1) != of) return;
  part = first_columns(part, count);
}

}  // namespace

int64_t count_links(const Sequence& sequence) {
  int64_t count = 0;
  if (!sequence.links.defined()) return count;
  const auto ends = sequence.links.span<int32_t>();
  for (size_t i = 0; i < ends.size(); i += 2) count += ends[i] >= 0;
  return count;
}

namespace {

// Links that the sample with the most of them has, at least 1.
int64_t most_links(const Tensor& links) {
  const int64_t columns = links.dim(1);
  const int32_t* end = links.data<int32_t>();
  int64_t most = 1;
  for (int64_t i = 0; i < links.size() / 2; ++i)
    if (end[2 * i] >= 0) most = std::max(most, i % columns + 1);
  return most;
}

void trim_links(Sequence& sequence) {
  if (!sequence.links.defined()) return;
  const int64_t links = sequence.links.dim(1),
                kept = rounded_length(most_links(sequence.links), kPlaceMultiple, links);
  for (const auto& field : kSequenceFields)
    if (field.kind.second == FieldDim::link) keep_columns(sequence.*field.tensor, links, kept);
}

// x [B,T,S] -> [B,T,count]
Tensor first_numbers(const Tensor& x, int64_t count) {
  const Tensor rows = first_columns(x.reshape({x.dim(0) * x.dim(1), x.dim(2)}), count);
  return rows.reshape({x.dim(0), x.dim(1), count});
}

void trim_tokens(Sequence& sequence, int64_t multiple) {
  if (!sequence.lengths.defined()) return;
  const auto lengths = sequence.lengths.span<int32_t>();
  const int64_t longest = std::max(1, *std::max_element(lengths.begin(), lengths.end())),
                length = sequence.length(), kept = rounded_length(longest, multiple, length);
  SKEIN_CHECK(longest <= length);
  for (const auto& field : kSequenceFields)
    if (field.kind.second == FieldDim::token) keep_columns(sequence.*field.tensor, length, kept);
  if (sequence.distances.defined() && kept < length)
    sequence.distances = first_numbers(sequence.distances, kept);
  trim_links(sequence);
}

// Of what has a column a place.
void keep_places(Batch& batch, int64_t places, int64_t kept) {
  for (const auto& field : kBatchFields)
    if (field.kind.second == FieldDim::place) keep_columns(batch.*field.tensor, places, kept);
}

void trim_places(Batch& batch) {
  const int64_t places = batch.places.dim(1);
  keep_places(batch, places, rounded_length(most_places(batch.places), kPlaceMultiple, places));
}

}  // namespace

Tensor filled(int64_t rows, int64_t columns, int32_t value) {
  return Tensor::from(std::vector<int32_t>(rows * columns, value), {rows, columns});
}

Sequence padded_sequence(int64_t count, const PaddedShape& shape) {
  Sequence made;
  made.tokens = filled(count, shape.length, shape.pad);
  made.positions = filled(count, shape.length, 0);
  if (shape.segments) made.segments = filled(count, shape.length, -1);
  if (shape.types) made.types = filled(count, shape.length, 0);
  made.lengths = Tensor::zeros({count}, DType::i32);
  return made;
}

Batch padded_batch(int64_t count, const PaddedShape& shape) {
  Batch made;
  static_cast<Sequence&>(made) = padded_sequence(count, shape);
  made.targets = filled(count, shape.places, 0);
  made.weights = Tensor::zeros({count, shape.places}, DType::f32);
  made.sample_ids = Tensor::zeros({count}, DType::i64);
  made.places = filled(count, shape.places, -1);
  return made;
}

int64_t rounded_length(int64_t length, int64_t multiple, int64_t most) {
  int64_t step = multiple;
  while (step * 16 < length) step *= 2;
  return std::min(rounded_up(length, step), most);
}

Batch trimmed(const Batch& batch, int64_t multiple) {
  Batch made = batch;
  trim_tokens(made, multiple);
  trim_tokens(made.source, multiple);
  if (batch.lengths.defined() && batch.places.defined()) trim_places(made);
  // Without named places something is predicted at each token.
  if (batch.lengths.defined() && !batch.places.defined())
    keep_places(made, batch.length(), made.length());
  return made;
}

Batch SampleSource::batch(const SampleRange& range, int threads) const {
  SKEIN_CHECK(range.first >= 0 && range.count > 0 && range.run > 0 && range.apart >= range.run);
  return make_batch(range, threads);
}

Batch RowSource::make_batch(const SampleRange& range, int threads) const {
  Batch made = empty_batch(range.count);
  const auto make = [&](int64_t row) {
    fill(made, row, range[row]);
    made.sample_ids.data<int64_t>()[row] = range[row];
  };
  const auto workers = static_cast<int>(std::min<int64_t>(threads, range.count));
  if (workers <= 1 || !takes_long()) {
    for (int64_t row = 0; row < range.count; ++row) make(row);
    return made;
  }
  int64_t next = 0;
  OrderedWorkers<int64_t, int64_t>(workers, [&](int, const int64_t& row) {
    make(row);
    return row;
  }).drive([&](int64_t& row) { return row = next, next++ < range.count; }, [](int64_t) {});
  return made;
}

Batch batch_rows(const Batch& batch, int64_t begin, int64_t end) {
  Batch rows;
  for_each_field(
      [&](const FieldKind& kind, const Tensor& from, Tensor& to) {
        if (kind.first == FieldDim::sample && from.defined()) to = from.rows(begin, end);
      },
      batch, rows);
  return rows;
}

Batch placed(const Batch& batch, Device device) {
  Batch made = batch;
  if (made.places.defined()) number_places(made);
  for_each_field(
      [&](const FieldKind& kind, Tensor& part) {
        if (kind.home == FieldHome::device && part.defined()) part = part.to(device);
      },
      made);
  return made;
}

Batch with_own_bytes(const Batch& batch) {
  Batch made = batch;
  for_each_field(
      [](const FieldKind& kind, Tensor& part) {
        if (kind.home == FieldHome::device && part.defined()) part = part.clone();
      },
      made);
  return made;
}

bool same_shapes(const Batch& left, const Batch& right) {
  bool same = true;
  for_each_field(
      [&](const FieldKind&, const Tensor& one, const Tensor& other) {
        same = same && one.defined() == other.defined() && one.shape() == other.shape();
      },
      left, right);
  return same;
}

void copy_bytes(const Batch& from, const Batch& to) {
  SKEIN_CHECK(same_shapes(from, to));
  for_each_field(
      [](const FieldKind& kind, const Tensor& source, const Tensor& target) {
        if (kind.home == FieldHome::device && source.defined()) target.copy_from(source);
      },
      from, to);
}

}  // namespace skein::data
