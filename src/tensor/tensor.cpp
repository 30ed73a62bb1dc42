#include "skein/tensor/tensor.h"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>

#include "skein/core/numbers.h"
#include "skein/tensor/cuda.h"

namespace skein {

size_t Shape::index(int dim) const {
  const int positive = dim < 0 ? dim + rank() : dim;
  SKEIN_CHECK(positive >= 0 && positive < rank());
  return static_cast<size_t>(positive);
}

int64_t Shape::size() const {
  const auto product = checked_product(dims_);
  if (!product)
    fail("no tensor can have the shape {}: 64 bits do not hold the number of its elements", str());
  return *product;
}

std::string Shape::str() const { return fmt::format("[{}]", fmt::join(dims_, ",")); }

Tensor Tensor::empty(Shape shape, DType dtype, Device device) {
  Tensor made;
  made.size_ = shape.size();
  made.shape_ = std::move(shape);
  made.dtype_ = dtype;
  if (!checked_product(std::array{made.size_}, size_of(dtype)))
    fail("no tensor can have the shape {}: 64 bits do not hold the number of its bytes",
         made.shape_.str());
  made.buffer_ = std::make_shared<Buffer>(made.bytes(), device);
  return made;
}

Tensor Tensor::zeros(Shape shape, DType dtype, Device device) {
  Tensor made = empty(std::move(shape), dtype, device);
  made.fill_zero();
  return made;
}

Tensor Tensor::reshape(Shape shape) const {
  const auto& dims = shape.dims();
  if (const auto open = std::find(dims.begin(), dims.end(), -1); open != dims.end()) {
    const auto open_dim = static_cast<int>(open - dims.begin());
    shape[open_dim] = 1;
    const int64_t known = shape.size();
    shape[open_dim] = known ? size_ / known : 0;
  }
  SKEIN_CHECK_EQ(shape.size(), size_);
  Tensor view = *this;
  view.shape_ = std::move(shape);
  return view;
}

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  SKEIN_CHECK(0 <= begin && begin <= end && end <= dim(0));
  const int64_t row = dim(0) ? size_ / dim(0) : 0;
  Tensor view = *this;
  view.shape_[0] = end - begin;
  view.size_ = (end - begin) * row;
  view.offset_ += begin * row * size_of(dtype_);
  return view;
}

Tensor Tensor::flat(int64_t begin, int64_t count) const {
  SKEIN_CHECK(begin >= 0 && count >= 0 && begin <= size_ && count <= size_ - begin);
  return reshape({-1}).rows(begin, begin + count);
}

Tensor Tensor::clone() const {
  Tensor copy = empty(shape_, dtype_, device());
  copy.copy_from(*this);
  return copy;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  if (device().kind != DeviceKind::cpu) return to(Device{}).to(dtype).to(device());
  Tensor made = empty(shape_, dtype, device());
  visit_float(dtype_, [&]<class From>(TypeTag<From>) {
    visit_float(dtype, [&]<class Into>(TypeTag<Into>) {
      using Middle =
          std::conditional_t<std::is_same_v<From, double> && std::is_same_v<Into, double>, double,
                             float>;
      const From* source = data<From>();
      Into* target = made.data<Into>();
      for (int64_t i = 0; i < size_; ++i)
        target[i] = static_cast<Into>(static_cast<Middle>(source[i]));
    });
  });
  return made;
}

Tensor Tensor::to(Device device) const {
  if (device == this->device()) return *this;
  Tensor copy = empty(shape_, dtype_, device);
  copy.copy_from(*this);
  return copy;
}

void Tensor::fill_zero() const {
  if (!bytes()) return;
  if (device().kind == DeviceKind::cuda)
    cuda::zero(bytes_data(), bytes(), device().index);
  else
    std::memset(bytes_data(), 0, bytes());
}

void Tensor::copy_from(const Tensor& source) const {
  SKEIN_CHECK_EQ(size_, source.size_);
  check_dtype(source.dtype_);
  if (!bytes()) return;
  if (device().kind == DeviceKind::cpu && source.device().kind == DeviceKind::cpu)
    std::memcpy(bytes_data(), source.bytes_data(), bytes());
  else
    cuda::copy(bytes_data(), device(), source.bytes_data(), source.device(), bytes());
}

void Tensor::check_dtype(DType wanted) const {
  if (dtype_ != wanted)
    throw Error(ExitCode::internal, fmt::format("tensor {} holds {}, not {}", shape_.str(),
                                                name_of(dtype_), name_of(wanted)));
}

}  // namespace skein
