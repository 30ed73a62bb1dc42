// Table look-up on the tape.
#pragma once

#include <vector>

#include "skein/data/samples/batch.h"
#include "skein/ops/var.h"

namespace skein::ops {

// ids [B,T] i32, table [V,C] holding the rows from first_id on -> [B,T,C]; rows held elsewhere are
// zero.
Var embedding(const Tensor& ids, const Weight& table, int64_t first_id);

// Rows of [B,T,C] in another order or number, P a sample; none more often than U times.
struct RowChoice {
  Tensor rows;  // [B*P] i32: numbers among the B*T rows; -1: a row of zeros
  Tensor back;  // [U*B*T] i32: U times, which number each row has among the B*P; -1: none
};
// Each row once at most. Of `samples` samples that choose alike. rows: P numbers among a sample's T
// rows, or -1.
RowChoice choose_rows(const std::vector<int32_t>& rows, int64_t length, int64_t samples,
                      Device device);
// x [B,T,C] -> [B,P,C].
Var take_rows(const Var& x, const RowChoice& choice);

// Rows of x [B,T,C] at the batch's places -> [B,P,C], zero where there is none; x itself where the
// batch names none.
Var take_places(const Var& x, const data::Batch& batch);

// [B,T+1,C]: the row of table [1,C] ahead of each sample's rows of x [B,T,C].
Var prepend(const Weight& table, const Var& x);

// x [M,C] -> [M*times,C]: each row so many times, one after the other.
Var repeat_rows(const Var& x, int64_t times);

// Positions [first, first + count) of each sample, x [B,T,C] -> [B,count,C].
Var positions(const Var& x, int64_t first, int64_t count);

// [B,T+S,C]: each sample's rows of y [B,S,C] behind those of x [B,T,C].
Var append(const Var& x, const Var& y);

// The first position of each sample, x [B,T,C] -> [B,1,C].
Var first_position(const Var& x);

// The last position of each sample, x [B,T,C] -> [B,1,C]; not recorded.
Tensor last_position(const Tensor& x);

// [B,1,C]: the mean of each sample's rows of x [B,T,C], of those that are no padding where segments
// [B,T] says which are (-1).
Var sample_means(const Var& x, const Tensor& segments);

}  // namespace skein::ops
