// Sums in a fixed order, and moves of blocks.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// sums [ceil(n/chunk)] f64: the squares of each chunk of x (f32 or f64), added in a fixed order.
void chunk_square_sums(Cpu, const Tensor& x, int64_t chunk, Out sums);
void chunk_square_sums(Cuda, const Tensor& x, int64_t chunk, Out sums);

// sums [N] f64, each in a fixed order: row n of ranges [N,4] i64 is (begin, end, part, first), and
// the sum is of numbers [begin, end) of a row of which values [S,M] hold `part` each: number i is
// values[i / part][first + i % part].
void range_sums(Cpu, const Tensor& values, const Tensor& ranges, Out sums);
void range_sums(Cuda, const Tensor& values, const Tensor& ranges, Out sums);
// sum [1] f64: of values[order[i]] for all i, in an order fixed by them; order [N] i64.
void ordered_sum(Cpu, const Tensor& values, const Tensor& order, Out sum);
void ordered_sum(Cuda, const Tensor& values, const Tensor& order, Out sum);

// parts [N] i64: numbers that stand for the bits of N equal shares of x, whatever it holds; where a
// bit differs, so does the part. x begins at a multiple of 8 bytes. Ranks on devices of one kind
// compare them.
void digest(Cpu, const Tensor& x, Out parts);
void digest(Cuda, const Tensor& x, Out parts);

// out [B,...,C]: the mean over t of the rows x [B,T,C] with kept[b,t] >= 0 (i32), in the order of
// t; 0 where there is none.
void sample_means(Cpu, const Tensor& x, const Tensor& kept, Out out);
void sample_means(Cuda, const Tensor& x, const Tensor& kept, Out out);
// dx [B,T,C] of slopes dy [B,...,C].
void sample_means_backward(Cpu, const Tensor& dy, const Tensor& kept, Out dx);
void sample_means_backward(Cuda, const Tensor& dy, const Tensor& kept, Out dx);

// out [B,A,...] from x [A,B,...]: swaps the two leading dims.
void swap_leading(Cpu, const Tensor& x, Out out);
void swap_leading(Cuda, const Tensor& x, Out out);
// out[a, to .. to + count] = x[a, from .. from + count] for each a, of x [A,B,...] and out
// [A,C,...]; the rest of out stays.
void copy_positions(Cpu, const Tensor& x, int64_t from, int64_t count, int64_t to, Out out);
void copy_positions(Cuda, const Tensor& x, int64_t from, int64_t count, int64_t to, Out out);
// x[to, first .. end] = x[from, first .. end] of x [A,B,...] for each (from, to, first) of moves
// [N,3] i32. No row is written twice, or read and written.
void copy_tails(Cpu, const Tensor& moves, int64_t end, Out x);
void copy_tails(Cuda, const Tensor& moves, int64_t end, Out x);

}  // namespace skein::kernels
