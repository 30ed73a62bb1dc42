// Products of a transformer's shapes beside oneDNN's.
#include "skein/kernels/matmul.h"

#include "oneapi/dnnl/dnnl.hpp"
#include "support/kernel_check.h"

namespace skein {
namespace {

using dnnl::memory;
using test::random_tensor;

memory wrap(const dnnl::engine& engine, const Tensor& x, bool transpose) {
  const auto type = x.dtype() == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  const int64_t rows = x.dim(0), columns = x.dim(1);
  const memory::desc plain({rows, columns}, type, memory::dims{columns, 1}),
      turned({columns, rows}, type, memory::dims{1, columns});
  return {transpose ? turned : plain, engine, x.bytes_data()};
}

Tensor product_of_onednn(const Tensor& a, bool ta, const Tensor& b, bool tb, int64_t rows,
                         int64_t columns) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const Tensor c = Tensor::empty({rows, columns}, DType::f32);
  const memory left = wrap(engine, a, ta), right = wrap(engine, b, tb),
               result = wrap(engine, c, false);
  const dnnl::matmul::primitive_desc description(
      dnnl::matmul::desc(left.get_desc(), right.get_desc(), result.get_desc()), engine);
  dnnl::matmul(description)
      .execute(stream, {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}});
  stream.wait();
  return c;
}

// The forms of training with `tokens` rows, weights [outputs, inputs].
void check_forms(int64_t tokens, int64_t outputs, int64_t inputs, DType dtype) {
  const Tensor x = random_tensor({tokens, inputs}, 1, dtype),
               w = random_tensor({outputs, inputs}, 2, dtype),
               dy = random_tensor({tokens, outputs}, 3, dtype);
  const auto check = [&](const Tensor& a, bool ta, const Tensor& b, bool tb, int64_t rows,
                         int64_t columns, int64_t depth) {
    const Tensor c = Tensor::empty({rows, columns}, DType::f32),
                 wanted = product_of_onednn(a, ta, b, tb, rows, columns);
    kernels::matmul(Cpu{}, a, b, {.transpose_a = ta, .transpose_b = tb}, Out(c));
    const auto found = c.span<float>(), theirs = wanted.span<float>();
    // Both round sums of `depth` products of numbers around 1.
    const double tolerance = 2e-6 * std::sqrt(static_cast<double>(depth)) * 4;
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], theirs[i], tolerance + 2e-6 * std::abs(theirs[i])) << i;
  };
  check(x, false, w, true, tokens, outputs, inputs);
  check(dy, false, w, false, tokens, inputs, outputs);
  check(dy, true, x, false, outputs, inputs, tokens);
}

TEST(OneDnn, AgreesOnTheProductsOfATransformer) {
  for (DType dtype : {DType::f32, DType::bf16})
    for (const auto& [tokens, outputs, inputs] : {std::array<int64_t, 3>{256, 768, 768},
                                                  {250, 3072, 768},
                                                  {100, 768, 3072},
                                                  {65, 5003, 384},
                                                  {3, 384, 1536}}) {
      SCOPED_TRACE(fmt::format("{} tokens, {} x {}, {}", tokens, outputs, inputs, name_of(dtype)));
      check_forms(tokens, outputs, inputs, dtype);
    }
}

}  // namespace
}  // namespace skein
