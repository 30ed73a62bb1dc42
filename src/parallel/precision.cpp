#include "skein/parallel/precision.h"

namespace skein {

DType precision_on(DeviceKind device, Precision asked) {
  return asked.value_or(device == DeviceKind::cuda ? DType::bf16 : DType::f32);
}

void bind_precision(Options& options, const std::string& key, Precision& field,
                    const std::string& help) {
  options.add_choice(
      key, field,
      {{"auto", Precision()}, {"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}},
      help + "; auto: bf16 on GPUs, f32 on CPUs");
}

void settle_precision(Options& options, const std::string& key, const Precision& field,
                      DeviceKind device) {
  if (!field)
    options.set(key, std::string(name_of(precision_on(device, field))),
                device == DeviceKind::cuda ? "auto on a GPU" : "auto on a CPU");
}

}  // namespace skein
