// A rank that holds some columns of a row has the mask of the whole row.
#include <omp.h>

#include "skein/kernels/elementwise.h"

#include "support/kernel_check.h"

namespace skein {
namespace {

Tensor dropped(const Tensor& x, const kernels::DropoutMask& mask) {
  const Tensor out = test::like(x);
  kernels::dropout(Cpu{}, x, mask, Out(out));
  return out;
}

kernels::DropoutMask mask_of(int64_t first_column, int64_t columns) {
  return {0.4, 99, Tensor::from(std::vector<int64_t>{3, 1ll << 40}, {2}), 5, first_column, columns};
}

TEST(DropoutOfColumns, IsThatOfTheWholeRow) {
  constexpr int64_t kBatch = 2, kRows = 150, kWhole = 50;
  for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    const Tensor ones = Tensor::from(std::vector<float>(kBatch * kRows * kWhole, 1),
                                     {kBatch, kRows, kWhole})
                            .to(dtype),
                 whole = dropped(ones, mask_of(0, 0)).to(DType::f64);
    for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 25}, {25, 25}, {13, 7}}) {
      const Tensor part = Tensor::from(
                              std::vector<float>(static_cast<size_t>(kBatch * kRows * count), 1),
                              {kBatch, kRows, count})
                              .to(dtype),
                   found = dropped(part, mask_of(first, kWhole)).to(DType::f64);
      for (int64_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found.data<double>()[i],
                  whole.data<double>()[i / count * kWhole + first + i % count])
            << i;
    }
  }
}

TEST(DropoutOfColumns, BitsDoNotDependOnThreads) {
  const Tensor x = test::random_tensor({2, 1000, 24}, 1, DType::f32);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto one = test::bytes_of(dropped(x, mask_of(24, 48)));
  omp_set_num_threads(3);
  EXPECT_EQ(test::bytes_of(dropped(x, mask_of(24, 48))), one);
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace skein
