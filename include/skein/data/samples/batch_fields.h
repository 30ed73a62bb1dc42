// The fields of a batch, listed once: whatever cuts, moves or copies batches goes through this
// table.
#pragma once

#include <iterator>

#include "skein/data/samples/batch.h"

namespace skein::data {

// What a dim of a field counts. `none`: there is no such dim, or it counts nothing of a sample.
enum class FieldDim { none, sample, token, place, link };
// Where placed() puts a field: weights and what else weighs losses is read on the host.
enum class FieldHome { device, host };

struct FieldKind {
  FieldDim first, second;  // third dims are of each place, token or link
  FieldHome home;
};

template <class Of>
struct BatchField {
  Tensor Of::*tensor;
  FieldKind kind;
};

inline constexpr BatchField<Sequence> kSequenceFields[] = {
    {&Sequence::tokens, {FieldDim::sample, FieldDim::token, FieldHome::device}},
    {&Sequence::positions, {FieldDim::sample, FieldDim::token, FieldHome::device}},
    {&Sequence::segments, {FieldDim::sample, FieldDim::token, FieldHome::device}},
    {&Sequence::types, {FieldDim::sample, FieldDim::token, FieldHome::device}},
    {&Sequence::features, {FieldDim::sample, FieldDim::token, FieldHome::device}},
    // Tables of links are made on the host.
    {&Sequence::bags, {FieldDim::sample, FieldDim::token, FieldHome::host}},
    {&Sequence::distances, {FieldDim::sample, FieldDim::token, FieldHome::host}},
    {&Sequence::links, {FieldDim::sample, FieldDim::link, FieldHome::host}},
    {&Sequence::link_kinds, {FieldDim::sample, FieldDim::link, FieldHome::device}},
    {&Sequence::link_values, {FieldDim::sample, FieldDim::link, FieldHome::device}},
    {&Sequence::lengths, {FieldDim::sample, FieldDim::none, FieldHome::host}},
};

inline constexpr BatchField<Batch> kBatchFields[] = {
    {&Batch::targets, {FieldDim::sample, FieldDim::place, FieldHome::device}},
    {&Batch::weights, {FieldDim::sample, FieldDim::place, FieldHome::host}},
    {&Batch::sample_ids, {FieldDim::sample, FieldDim::none, FieldHome::device}},
    {&Batch::places, {FieldDim::sample, FieldDim::place, FieldHome::device}},
    {&Batch::prefix, {FieldDim::sample, FieldDim::none, FieldHome::device}},
    {&Batch::pair_labels, {FieldDim::sample, FieldDim::none, FieldHome::device}},
    {&Batch::values, {FieldDim::sample, FieldDim::place, FieldHome::device}},
    {&Batch::known, {FieldDim::sample, FieldDim::place, FieldHome::host}},
    // Made anew by placed().
    {&Batch::place_rows, {FieldDim::none, FieldDim::none, FieldHome::device}},
    {&Batch::row_places, {FieldDim::none, FieldDim::none, FieldHome::device}},
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

}  // namespace skein::data
