// The element type of parameters and activations as it is asked for, and what that means on a
// device.
#pragma once

#include <optional>
#include <string>

#include "skein/core/options/options.h"
#include "skein/tensor/device.h"
#include "skein/tensor/dtype.h"

namespace skein {

// f32, bf16 or f16; empty stands for `auto`.
using Precision = std::optional<DType>;

// auto: bf16 on GPUs, f32 on CPUs.
DType precision_on(DeviceKind device, Precision asked);

// Binds the choice of auto, f32, bf16 and f16 to `key`. help: what the elements are of.
void bind_precision(Options& options, const std::string& key, Precision& field,
                    const std::string& help);
// Replaces an `auto` by what it means on the device, in the field and in what `options` prints;
// there the origin says that it was auto.
void settle_precision(Options& options, const std::string& key, const Precision& field,
                      DeviceKind device);

}  // namespace skein
