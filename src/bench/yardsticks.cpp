#include "skein/kernels/matmul.h"
#include "skein/kernels/peak.h"

#include "parts.h"

namespace skein::bench {

Tensor& Yardsticks::stream(int number) {
  Tensor& stream = streams_[number];
  if (!stream.defined()) stream = Tensor::zeros({elements_}, DType::f32, device_);
  return stream;
}

double Yardsticks::products(DType dtype) {
  if (device_.kind == DeviceKind::cpu) return kernels::register_peak(Cpu{}, dtype);
  if (!left_.defined()) {
    left_ = random_values({side_, side_}, dtype, 1, device_);
    right_ = random_values({side_, side_}, dtype, 2, device_);
    result_ = Tensor::empty({side_, side_}, dtype, device_);
  }
  const auto multiply = [&] {
    on_device(device_, [&](auto device) {
      kernels::matmul(device, left_, right_, {.transpose_b = true}, Out(result_));
    });
  };
  constexpr int kCalls = 5;
  seconds_of(device_, multiply);
  const double seconds = seconds_of(device_, [&] {
    for (int i = 0; i < kCalls; ++i) multiply();
  });
  const double side = side_;
  return kCalls * 2.0 * side * side * side / seconds;
}

double Yardsticks::copy() {
  const Tensor &from = stream(0), &to = stream(1);
  const auto work = [&] {
    if (device_.kind == DeviceKind::cpu)
      kernels::stream_copy(Cpu{}, from, Out(to));
    else
      to.copy_from(from);
  };
  const int calls = device_.kind == DeviceKind::cpu ? 1 : 20;
  return calls * 2.0 * from.bytes() / seconds_of(device_, [&] {
           for (int i = 0; i < calls; ++i) work();
         });
}

double Yardsticks::update() {
  if (device_.kind != DeviceKind::cpu) return copy();
  const double bytes = 7.0 * stream(0).bytes();
  return bytes / seconds_of(device_, [&] {
           kernels::stream_update(Cpu{}, stream(0), Out(stream(1)), Out(stream(2)), Out(stream(3)));
         });
}

double Yardsticks::read() {
  if (device_.kind != DeviceKind::cpu) return copy();
  const Tensor& from = stream(0);
  return from.bytes() / seconds_of(device_, [&] { kernels::stream_read(Cpu{}, from); });
}

}  // namespace skein::bench
