// Tensor: a contiguous row-major view onto shared bytes on one device. Copying the handle never
// copies the data; `clone` does.
//
//   Tensor x = Tensor::zeros({batch, length, d_model}, DType::f32);   // [B,T,C]
//   Tensor rows = x.reshape({-1, d_model});                           // the same bytes
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skein/tensor/buffer.h"
#include "skein/tensor/dtype.h"

namespace skein {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  // Negative dims count from the end.
  int64_t operator[](int dim) const { return dims_[index(dim)]; }
  int64_t& operator[](int dim) { return dims_[index(dim)]; }
  // Product of all dims; 1 for a scalar. Error(failure) where one is negative or 64 bits do not
  // hold it.
  int64_t size() const;
  const std::vector<int64_t>& dims() const { return dims_; }
  // "[2,3]"
  std::string str() const;
  bool operator==(const Shape&) const = default;

 private:
  size_t index(int dim) const;
  std::vector<int64_t> dims_;
};

}  // namespace skein

template <>
struct fmt::formatter<skein::Shape> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const skein::Shape& shape, Context& context) const {
    return fmt::formatter<std::string_view>::format(shape.str(), context);
  }
};

namespace skein {

class Tensor {
 public:
  Tensor() = default;  // no data; `defined()` is false

  // Error(failure) naming the shape where 64 bits do not hold its bytes, or memory is short.
  static Tensor empty(Shape shape, DType dtype, Device device = {});
  static Tensor zeros(Shape shape, DType dtype, Device device = {});
  template <class T>
  static Tensor from(const std::vector<T>& values, Shape shape) {
    Tensor made = empty(std::move(shape), DTypeOf<T>::value);
    SKEIN_CHECK_EQ(made.size(), static_cast<int64_t>(values.size()));
    if (!values.empty()) std::memcpy(made.bytes_data(), values.data(), values.size() * sizeof(T));
    return made;
  }

  // Uninitialised, beside this one, of its shape and dtype where not told otherwise.
  Tensor like() const { return like(shape_); }
  Tensor like(Shape shape) const { return like(std::move(shape), dtype_); }
  Tensor like(Shape shape, DType dtype) const { return empty(std::move(shape), dtype, device()); }

  bool defined() const { return buffer_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int64_t dim(int d) const { return shape_[d]; }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * size_of(dtype_); }
  DType dtype() const { return dtype_; }
  Device device() const { return buffer_ ? buffer_->device() : Device{}; }

  // First element; an internal error when T is not the dtype.
  template <class T>
  T* data() const {
    check_dtype(DTypeOf<T>::value);
    return reinterpret_cast<T*>(bytes_data());
  }
  // The same, or null where there is no data.
  template <class T>
  T* data_or_null() const {
    return defined() ? data<T>() : nullptr;
  }
  template <class T>
  std::span<T> span() const {
    return {data<T>(), static_cast<size_t>(size_)};
  }
  std::byte* bytes_data() const { return buffer_ ? buffer_->data() + offset_ : nullptr; }

  // The same bytes under another shape; one dim may be -1.
  Tensor reshape(Shape shape) const;
  // Rows [begin, end) of the first dim, the same bytes.
  Tensor rows(int64_t begin, int64_t end) const;
  // `count` elements from flat position `begin`, as a 1-D view.
  Tensor flat(int64_t begin, int64_t count) const;
  Tensor clone() const;
  // Where it changes something, a copy; of a device's tensor it passes through the host.
  Tensor to(DType dtype) const;
  // A copy on another device, or the tensor itself. A copy to the host is whole when this returns.
  Tensor to(Device device) const;
  void fill_zero() const;
  void copy_from(const Tensor& source) const;  // same size and dtype, any device
  // Lets go of the bytes but keeps shape and dtype: what a pipeline needs of an output it has sent.
  void drop_data() { buffer_.reset(); }

 private:
  void check_dtype(DType wanted) const;

  Shape shape_;
  int64_t size_ = 0;
  DType dtype_ = DType::f32;
  std::shared_ptr<Buffer> buffer_;
  int64_t offset_ = 0;  // bytes
};

// A tensor that a function writes, told apart where the function is declared and where it is
// called; outputs stand last among the parameters:
//
//   void add(Cpu, const Tensor& a, const Tensor& b, Out sum);
//   kernels::add(device, a, b, Out(sum));
//
// Many that belong together are a struct of Outs, such as kernels::PolicyOuts.
//
// What was there is overwritten, unless the function says that it is added to. Undefined, where
// the function allows it: nobody wants that output.
class Out {
 public:
  Out() = default;
  explicit Out(Tensor tensor) : tensor_(std::move(tensor)) {}
  const Tensor& operator*() const { return tensor_; }
  const Tensor* operator->() const { return &tensor_; }

 private:
  Tensor tensor_;
};

}  // namespace skein
