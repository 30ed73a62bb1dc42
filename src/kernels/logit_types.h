// The types that gradients of logits come in.
#pragma once

#include "skein/core/error.h"
#include "skein/tensor/dtype.h"

namespace skein::kernels {

// The gradient has the logits' type, or two bytes of f32 logits.
template <class F>
void visit_logits(DType logits, DType gradient, const F& f) {
  visit_float(logits, [&](auto tag) {
    if (gradient == logits) return f(tag, tag);
    SKEIN_CHECK(logits == DType::f32 && size_of(gradient) == 2);
    if (gradient == DType::bf16)
      f(TypeTag<float>{}, TypeTag<BFloat16>{});
    else
      f(TypeTag<float>{}, TypeTag<Float16>{});
  });
}

}  // namespace skein::kernels
