#include "skein/kernels/normal.h"

#include <array>

#include "skein/core/philox.h"

#include "parallel.h"

namespace skein::kernels {

void normal(const NormalRows& rows, Out out) {
  constexpr int64_t kGrain = 4096, kDrawn = 256;
  const int64_t columns = out->dim(1);
  visit_float(out->dtype(), [&]<class T>(TypeTag<T>) {
    T* const to = out->data<T>();
    parallel_ranges(out->size(), kGrain, [&](int64_t begin, int64_t end) {
      std::array<float, kDrawn> drawn;
      for (int64_t at = begin, count = 0; at < end; at += count) {
        count = std::min({kDrawn, end - at, columns - at % columns});
        const int64_t number = rows.first + at / columns * rows.apart + at % columns;
        fill_normal(rows.key, 0, static_cast<uint64_t>(number),
                    {drawn.data(), static_cast<size_t>(count)});
        for (int64_t i = 0; i < count; ++i)
          to[at + i] = static_cast<T>(static_cast<Accumulator<T>>(rows.deviation * drawn[i]));
      }
    });
  });
}

}  // namespace skein::kernels
