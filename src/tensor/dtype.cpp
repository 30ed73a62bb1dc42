#include "skein/tensor/dtype.h"

namespace skein {

DType dtype_from_name(std::string_view name) {
  for (DType dtype :
       {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8})
    if (name_of(dtype) == name) return dtype;
  fail_usage("unknown element type '{}'; known are f32, f64, bf16, f16, i32, i64, u8", name);
}

}  // namespace skein
