// Operations over tensor-parallel ranks: meaning, conjugate gradients, and equality with one rank.
#include <numeric>

#include "skein/comm/local.h"
#include "skein/ops/collective.h"
#include "skein/ops/loss.h"

#include "support/gradient_check.h"

namespace skein {
namespace {

using test::random_tensor;

Tensor own_slice(const Tensor& x, const Group& group) {  // [B,T,C] over T
  const int64_t part = x.dim(1) / group.size(), columns = x.dim(2);
  const Tensor slice = Tensor::empty({x.dim(0), part, columns}, x.dtype());
  for (int64_t b = 0; b < x.dim(0); ++b)
    slice.flat(b * part * columns, part * columns)
        .copy_from(x.flat((b * x.dim(1) + group.rank() * part) * columns, part * columns));
  return slice;
}

double dot(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.size(), b.size());
  return std::inner_product(a.data<double>(), a.data<double>() + a.size(), b.data<double>(), 0.0);
}

// The adjoint identity over all ranks together: sum <f(x), dy> == sum <x, f*(dy)>, with x different
// on each rank.
template <class Op>
void check_adjoint(const Op& op, const Shape& shape, Group& group, double divisor_in,
                   double divisor_out) {
  const Var x = Var::leaf(random_tensor(shape, 5 + static_cast<uint64_t>(group.rank())));
  const Var y = op(x, group);
  const Tensor dy = random_tensor(y.shape(), 50 + static_cast<uint64_t>(group.rank()));
  backward(y, dy.clone());
  const double left = group.sum(dot(y.value(), dy)) / divisor_out,
               right = group.sum(dot(x.value(), x.gradient())) / divisor_in;
  EXPECT_NEAR(left, right, 1e-11 * std::max(1.0, std::abs(left)));
}

TEST(Collective, GatherAndReduceScatterAreEachOthersGradient) {
  for (int ranks : {1, 2, 4})
    run_ranks(ranks, [](Group& group) {
      check_adjoint(ops::gather_sequence, {2, 3, 5}, group, 1, 1);
      check_adjoint(ops::reduce_scatter_sequence, {2, 4, 5}, group, 1, 1);
    });
}

TEST(Collective, ForwardAndBackwardMeanWhatTheySay) {
  for (int ranks : {2, 4})
    run_ranks(ranks, [](Group& group) {
      const double n = group.size();
      const Tensor ones = Tensor::from(std::vector<double>(8, 1.0), {1, 4, 2});
      const Var copied = Var::leaf(ones.clone());
      backward(ops::copy_to_shards(copied, group), ones.clone());
      EXPECT_EQ(copied.gradient().data<double>()[0], n);
      const Var reduced = Var::leaf(ones.clone());
      const Var sum = ops::reduce_from_shards(reduced, group);
      EXPECT_EQ(sum.value().data<double>()[7], n);
      backward(sum, ones.clone());
      EXPECT_EQ(reduced.gradient().data<double>()[0], 1);
      const Tensor whole = random_tensor({2, 4, 3}, 8);
      const Var sliced = Var::leaf(whole.clone());
      const Var slice = ops::slice_sequence(sliced, group);
      EXPECT_EQ(test::bytes_of(slice.value()), test::bytes_of(own_slice(whole, group)));
      backward(slice, own_slice(whole, group));
      EXPECT_EQ(test::bytes_of(sliced.gradient()), test::bytes_of(whole));
      EXPECT_EQ(test::bytes_of(ops::gather_sequence(Var(own_slice(whole, group)), group).value()),
                test::bytes_of(whole));
    });
}

struct CrossEntropy {
  Tensor losses, dx, dweight;
};

CrossEntropy cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                           const ops::VocabShard& shard, Group& group) {
  const Var in = Var::leaf(x);
  const WeightMemory head{weight, Tensor::zeros(weight.shape(), gradient_dtype(weight.dtype()))};
  const Tensor row_weights = random_tensor({x.dim(0)}, 4, head.gradient.dtype());
  const Var losses =
      ops::linear_cross_entropy(in, {head, {}, shard, &group}, targets, row_weights, x.dim(0));
  backward(losses, row_weights);
  const Tensor dx = in.gradient().clone();
  group.all_reduce_sum(dx).wait();
  return {losses.value(), dx, head.gradient};
}

TEST(VocabParallel, LossAndGradientsDoNotDependOnShardsOrPadding) {
  const int64_t rows = 6, ids = 11, width = 3;
  const Tensor x = random_tensor({rows, width}, 2),
               weight = random_tensor({ids, width}, 3, DType::f64, 4);
  const Tensor targets = Tensor::from(std::vector<int32_t>{0, 10, 5, 3, 6, 9}, {rows});
  const auto alone = single_rank();
  const CrossEntropy expected = cross_entropy(x, weight, targets, {0, ids}, *alone);
  for (int ranks : {1, 2, 4})
    run_ranks(ranks, [&](Group& group) {
      const int64_t part = (ids + ranks - 1) / ranks + 1;  // one row of padding at least
      const int64_t held = part - 1, first = held * group.rank(),
                    valid = std::clamp<int64_t>(ids - first, 0, held);
      const Tensor own =
          random_tensor({part, width}, 77, DType::f64, 1000);  // padding must not matter
      own.rows(0, valid).copy_from(weight.rows(first, first + valid));
      const CrossEntropy found = cross_entropy(x.clone(), own, targets, {first, valid}, group);
      for (int64_t i = 0; i < rows; ++i)
        EXPECT_NEAR(found.losses.data<double>()[i], expected.losses.data<double>()[i], 1e-12);
      for (int64_t i = 0; i < x.size(); ++i)
        EXPECT_NEAR(found.dx.data<double>()[i], expected.dx.data<double>()[i], 1e-12);
      for (int64_t i = 0; i < own.size(); ++i)
        EXPECT_NEAR(found.dweight.data<double>()[i],
                    i < valid * width ? expected.dweight.data<double>()[first * width + i] : 0.0,
                    1e-12);
    });
}

// 128 MiB hold 671 rows of 50,000 logits, which 576 of make a chunk.
TEST(VocabParallel, RowsDoNotKnowTheirChunk) {
  const int64_t rows = 1500, ids = 50000, width = 2;
  const auto alone = single_rank();
  for (DType dtype : {DType::f32, DType::bf16}) {
    const Tensor x = random_tensor({rows, width}, 2, dtype),
                 weight = random_tensor({ids, width}, 3, dtype);
    std::vector<int32_t> names(rows);
    for (size_t i = 0; i < names.size(); ++i) names[i] = static_cast<int32_t>(i * 31 % ids);
    const Tensor targets = Tensor::from(names, {rows});
    const CrossEntropy all = cross_entropy(x, weight, targets, {0, ids}, *alone);
    for (int64_t row : {0L, 575L, 576L, 1499L}) {
      const CrossEntropy one =
          cross_entropy(x.rows(row, row + 1), weight, targets.flat(row, 1), {0, ids}, *alone);
      EXPECT_EQ(test::bytes_of(one.losses), test::bytes_of(all.losses.flat(row, 1))) << row;
    }
  }
}

}  // namespace
}  // namespace skein
