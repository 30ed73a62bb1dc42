// Files of tests/golden: numbers that an independent program computed.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "skein/data/stores/hdf5.h"
#include "skein/nn/parameter.h"

namespace skein::test {

// Largest difference from what the other program computed, over the largest number of a tensor.
constexpr double kTolerance = 1e-5;

template <class T>
hid_t memory_type() {
  if (std::is_same_v<T, int32_t>) return H5T_NATIVE_INT32;
  return std::is_same_v<T, float> ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

class Golden {
 public:
  explicit Golden(const std::string& path)
      : path_(path), file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose) {
    demand(file_.valid(), "the file");
  }

  template <class T>
  Tensor tensor(const std::string& name) const {
    const data::Hdf5Id set(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
    demand(set.valid(), name);
    const data::Hdf5Id space(H5Dget_space(set.get()), H5Sclose);
    std::vector<hsize_t> dims(static_cast<size_t>(H5Sget_simple_extent_ndims(space.get())));
    H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
    Tensor made =
        Tensor::empty(Shape(std::vector<int64_t>(dims.begin(), dims.end())), DTypeOf<T>::value);
    demand(
        H5Dread(set.get(), memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, made.bytes_data()) >= 0,
        name);
    return made;
  }

  int64_t number(const char* name) const { return read<int64_t>(name, H5T_NATIVE_INT64); }
  double real(const char* name) const { return read<double>(name, H5T_NATIVE_DOUBLE); }
  std::string text(const char* name) const {
    const data::Hdf5Id attribute = open(name), type(H5Aget_type(attribute.get()), H5Tclose);
    char* held = nullptr;
    demand(H5Aread(attribute.get(), type.get(), &held) >= 0 && held, name);
    const std::string value = held;
    H5free_memory(held);
    return value;
  }
  size_t tensors() const {
    H5G_info_t info{};
    demand(H5Gget_info(file_.get(), &info) >= 0, "the list of tensors");
    return info.nlinks;
  }

 private:
  void demand(bool ok, const std::string& what) const {
    if (!ok) throw std::runtime_error("cannot read " + what + " of " + path_);
  }
  data::Hdf5Id open(const char* name) const {
    data::Hdf5Id attribute(H5Aopen(file_.get(), name, H5P_DEFAULT), H5Aclose);
    demand(attribute.valid(), name);
    return attribute;
  }
  template <class T>
  T read(const char* name, hid_t type) const {
    T value{};
    demand(H5Aread(open(name).get(), type, &value) >= 0, name);
    return value;
  }

  data::Hdf5Lock lock_;
  std::string path_;
  data::Hdf5Id file_;
};

// The part of a whole tensor that a parameter holds, padding zero.
inline std::vector<float> part_of(const Parameter& p, const Tensor& whole) {
  std::vector<float> part(static_cast<size_t>(p.local.size()), 0.0f);
  const auto start = p.box_start(), extent = p.box_extent();
  const bool matrix = p.shape.rank() > 1;
  const int64_t columns = matrix ? p.shape[1] : 1, local_columns = matrix ? p.local[1] : 1;
  const int64_t width = matrix ? extent[1] : 1, first = matrix ? start[1] : 0;
  for (int64_t row = 0; row < extent[0]; ++row) {
    const float* from = whole.data<float>() + (start[0] + row) * columns + first;
    std::copy_n(from, width, part.begin() + row * local_columns);
  }
  return part;
}

// Largest difference, relative to the largest number wanted; to 1 where that is zero in exact
// arithmetic, as is the gradient of key biases, which move all scores of a query alike. Infinite
// where a number is not finite.
inline double error_of(std::span<const float> found, std::span<const float> wanted) {
  if (found.size() != wanted.size()) return std::numeric_limits<double>::infinity();
  double difference = 0, size = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    // std::max would drop a NaN.
    if (!std::isfinite(found[i])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(double{found[i]} - wanted[i]));
    size = std::max(size, std::abs(double{wanted[i]}));
  }
  return size > 1e-10 ? difference / size : difference;
}

}  // namespace skein::test
