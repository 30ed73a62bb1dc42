// Hashing of vectors by their directions, and results of several rounds of it put together (Kitaev
// and others, "Reformer", 2020).
#pragma once

#include <vector>

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// buckets [N,H,R] i32 of x [N,H,D], by R rounds of rotations [H,R,D,P] f32. `sides` are even, with
// P half of their sum: a bucket's number has a digit for each, of as many values, and is the sum of
// the digits, each times all sides before its own. A digit is the number of the largest of its part
// of the P products and behind them their negatives, the first of equal ones.
void hash_buckets(Cpu, const Tensor& x, const Tensor& rotations, const std::vector<int64_t>& sides,
                  Out buckets);
void hash_buckets(Cuda, const Tensor& x, const Tensor& rotations, const std::vector<int64_t>& sides,
                  Out buckets);

// The tokens of B samples and H heads by their buckets in R rounds. A sample and head has R*T rows:
// all rounds one behind the other, each of the tokens that are no padding, by document, bucket and
// place; behind the last round there are rows of nothing.
// rows [B*H*R*T] i32: which of [B,T,H] a row is; -1: none
// back [R,B*T*H] i32: the row of each of them; -1: of padding, there is none
// groups [B*H,R*T] i32: the first row of its sample and head that has the same round, document and
// bucket; -1: none
//
// buckets [B,T,H,R] i32, not negative and below `count`; segments [B,T] i32, the documents,
// negative for padding; undefined: one and no padding.
void order_by_bucket(Cpu, const Tensor& buckets, const Tensor& segments, int64_t count, Out rows,
                     Out back, Out groups);
void order_by_bucket(Cuda, const Tensor& buckets, const Tensor& segments, int64_t count, Out rows,
                     Out back, Out groups);

// N rows, each in up to R parts.
struct RoundParts {
  Tensor parts;   // [P,C]
  Tensor levels;  // [P] in the accumulator type; -inf: the part weighs nothing
  Tensor rows;    // [R,N] i32: which parts a row has, each of them in one row at most; -1: none
};
// y [N,C]: the sum of a row's parts, each by exp(level) over the sum of those; 0 where none weighs.
void merge_rounds(Cpu, const RoundParts& from, Out y);
void merge_rounds(Cuda, const RoundParts& from, Out y);
// Of y, which forward made, and its gradient dy: dparts [P,C] and dlevels [P], 0 where a part is in
// no row.
void merge_rounds_backward(Cpu, const RoundParts& from, const Tensor& y, const Tensor& dy,
                           Out dparts, Out dlevels);
void merge_rounds_backward(Cuda, const RoundParts& from, const Tensor& y, const Tensor& dy,
                           Out dparts, Out dlevels);

}  // namespace skein::kernels
