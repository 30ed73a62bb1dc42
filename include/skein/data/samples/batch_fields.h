// The fields of a batch, listed once: whatever cuts, moves or copies batches goes through this
// table.
#pragma once

#include <iterator>

#include "skein/data/samples/batch.h"

namespace skein {

// What a dim of a field counts. `none`: there is no such dim, or it counts nothing of a sample.
enum class Dim { none, sample, token, place };
// Where placed() puts a field: weights and what else weighs losses is read on the host.
enum class Home { device, host };

struct FieldKind {
  Dim first, second;  // third dims are of each place or token
  Home home;
};

template <class Of>
struct Field {
  Tensor Of::*tensor;
  FieldKind kind;
};

inline constexpr Field<Sequence> kSequenceFields[] = {
    {&Sequence::tokens, {Dim::sample, Dim::token, Home::device}},
    {&Sequence::positions, {Dim::sample, Dim::token, Home::device}},
    {&Sequence::segments, {Dim::sample, Dim::token, Home::device}},
    {&Sequence::types, {Dim::sample, Dim::token, Home::device}},
    {&Sequence::lengths, {Dim::sample, Dim::none, Home::host}},
};

inline constexpr Field<Batch> kBatchFields[] = {
    {&Batch::targets, {Dim::sample, Dim::place, Home::device}},
    {&Batch::weights, {Dim::sample, Dim::place, Home::host}},
    {&Batch::sample_ids, {Dim::sample, Dim::none, Home::device}},
    {&Batch::places, {Dim::sample, Dim::place, Home::device}},
    {&Batch::pair_labels, {Dim::sample, Dim::none, Home::device}},
    {&Batch::values, {Dim::sample, Dim::place, Home::device}},
    {&Batch::known, {Dim::sample, Dim::place, Home::host}},
    {&Batch::place_rows, {Dim::none, Dim::none, Home::device}},  // placed() makes them anew
    {&Batch::row_places, {Dim::none, Dim::none, Home::device}},
};

static_assert(sizeof(Sequence) == std::size(kSequenceFields) * sizeof(Tensor),
              "a field of Sequence has no line in kSequenceFields");
static_assert(sizeof(Batch) == 2 * sizeof(Sequence) + std::size(kBatchFields) * sizeof(Tensor),
              "a field of Batch has no line in kBatchFields");

// f(kind, tensors...) for every field, those of the sources too: its tensor in each of the batches,
// const where the batch is.
template <class F, class... Batches>
void for_each_field(const F& f, Batches&... batches) {
  for (const auto& field : kSequenceFields) f(field.kind, (batches.*field.tensor)...);
  for (const auto& field : kSequenceFields) f(field.kind, (batches.source.*field.tensor)...);
  for (const auto& field : kBatchFields) f(field.kind, (batches.*field.tensor)...);
}

}  // namespace skein
