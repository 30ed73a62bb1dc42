// Kernels over links on the device against the CPU's.
#include "cuda/on_devices.h"
#include "support/drawn_links.h"

namespace skein {
namespace {

using test::OnCuda;
using test::random_tensor;
using test::Tensors;
using test::zeros_like;

constexpr std::pair<int64_t, int64_t> kHeadsAndWidths[] = {{1, 1}, {3, 8}, {2, 70}};

TEST_P(OnCuda, SumsAndProductsOverLinks) {
  for (const kernels::Links& links : test::various_links())
    for (const auto& [heads, width] : kHeadsAndWidths) {
      const Tensor q = random_tensor({links.row_count(), heads, width}, 1, dtype()),
                   k = random_tensor({links.column_count(), heads, width}, 2, dtype()),
                   w = random_tensor({links.size(), heads}, 3, gradient_dtype(dtype())),
                   v = random_tensor({links.size(), heads}, 4, gradient_dtype(dtype()));
      for (const Tensor& weights : {w, Tensor()}) {
        EXPECT_EQUAL_ON_DEVICES(
            Tensors{zeros_like(q)}, tolerance(),
            kernels::gather_sum(device, at(k), at(links).by_row(), at(weights), 0.3, Out(out[0])));
        EXPECT_EQUAL_ON_DEVICES(
            Tensors{zeros_like(k)}, tolerance(),
            kernels::gather_sum(device, at(q), at(links).by_column(), at(weights), 1, Out(out[0])));
      }
      const Tensor first = q.like(q.shape(), DType::i32), top = q.like();
      EXPECT_EQUAL_ON_DEVICES(
          Tensors{zeros_like(q)}, 0,
          kernels::gather_max(device, at(k), at(links).by_row(), Out(out[0]), Out(at(first))));
      kernels::gather_max(Cpu{}, k, links.by_row(), Out(top), Out(first));
      EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(k)}, tolerance(),
                              kernels::gather_max_backward(device, at(q), at(first),
                                                           at(links).by_column(), Out(out[0])));
      EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(w)}, 1e-5,
                              kernels::link_dot(device, at(q), at(k), at(links), 0.3, Out(out[0])));
      EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(w)}, 1e-5,
                              kernels::link_softmax(device, at(w), at(links), Out(out[0])));
      EXPECT_EQUAL_ON_DEVICES(
          Tensors{zeros_like(w)}, 1e-5,
          kernels::link_softmax_backward(device, at(w), at(v), at(links), Out(out[0])));
      EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(w)}, 1e-5,
                              kernels::link_product(device, at(w), at(v), Out(out[0])));
    }
}

TEST_P(OnCuda, LinksThatSeeNothing) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  const kernels::Links links =
      kernels::make_links(std::vector<int64_t>{0, 2, 4}, std::vector<int64_t>{0, 1, 1, 0}, 2);
  const Tensor a = Tensor::from(std::vector<float>{kNothing, kNothing, kNothing, 2}, {4, 1});
  EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(a)}, 1e-6,
                          kernels::link_softmax(device, at(a), at(links), Out(out[0])));
}

TEST_P(OnCuda, AdditiveScores) {
  for (const kernels::Links& links : test::various_links())
    for (const auto& [heads, width] : kHeadsAndWidths) {
      const Tensor row = random_tensor({links.row_count(), heads, width}, 1, dtype()),
                   column = random_tensor({links.column_count(), heads, width}, 2, dtype()),
                   link = random_tensor({links.size(), heads, width}, 3, dtype()),
                   weights = random_tensor({heads, width}, 4, dtype()),
                   da = random_tensor({links.size(), heads}, 5, gradient_dtype(dtype())),
                   sums = row.to(gradient_dtype(dtype()));
      for (const kernels::LinkTerms& terms : {kernels::LinkTerms{row, column, link, weights, 0.2},
                                              {row, column, {}, {}, 0.2},
                                              {{}, column, {}, weights, 1},
                                              {{}, {}, link, {}, 0.5}}) {
        EXPECT_EQUAL_ON_DEVICES(Tensors{zeros_like(da)}, 1e-5,
                                kernels::link_additive(device, at(terms), at(links), Out(out[0])));
        EXPECT_EQUAL_ON_DEVICES(
            (Tensors{zeros_like(row), zeros_like(column), zeros_like(link), zeros_like(sums)}),
            tolerance(),
            kernels::link_additive_backward(device, at(terms), at(links), at(da),
                                            {Out(out[0]), Out(out[1]), Out(out[2]), Out(out[3])}));
      }
    }
}

}  // namespace
}  // namespace skein
