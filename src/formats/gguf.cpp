#include "skein/formats/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::formats {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr int64_t kAlignment = 32;
constexpr uint32_t kVersion = 3, kList = 9;

// The format's numbers of types of values.
template <class T>
constexpr uint32_t kTypeOf = std::is_same_v<T, uint8_t>    ? 0
                             : std::is_same_v<T, uint32_t> ? 4
                             : std::is_same_v<T, int32_t>  ? 5
                             : std::is_same_v<T, float>    ? 6
                             : std::is_same_v<T, bool>     ? 7
                                                           : 8;

class Header {
 public:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      put(uint64_t{value.size()});
      bytes_ += value;
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    }
  }
  template <class T>
  void put_typed(const T& value) {
    put(kTypeOf<T>);
    put(value);
  }
  template <class T>
  void put_typed(const std::vector<T>& list) {
    put(kList);
    put(kTypeOf<T>);
    put(uint64_t{list.size()});
    for (const T& value : list) put(value);
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string bytes_;
};

int64_t padded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

std::string gguf_type_name(GgufType type) {
  switch (type) {
    case GgufType::f32: return "F32";
    case GgufType::f16: return "F16";
    case GgufType::q8_0: return "Q8_0";
    case GgufType::bf16: return "BF16";
  }
  return "?";
}

GgufType gguf_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return GgufType::f32;
    case DType::f16: return GgufType::f16;
    case DType::bf16: return GgufType::bf16;
    default: break;
  }
  fail_usage("a GGUF file holds f32, f16, bf16 or q8_0, not {}; give --dtype", name_of(dtype));
}

int64_t GgufTensor::bytes() const {
  const auto elements = checked_product(shape, 1);
  SKEIN_CHECK(elements.has_value());
  switch (type) {
    case GgufType::f32: return *elements * 4;
    case GgufType::q8_0: return *elements / kGgufBlock * kGgufBlockBytes;
    default: return *elements * 2;
  }
}

GgufWriter::GgufWriter(const std::string& path, const GgufValues& values,
                       std::vector<GgufTensor> tensors)
    : file_(path, ExistingFile::refuse), tensors_(std::move(tensors)) {
  Header header;
  for (const char c : {'G', 'G', 'U', 'F'}) header.put(c);
  header.put(kVersion);
  header.put(uint64_t{tensors_.size()});
  header.put(uint64_t{values.size()});
  for (const auto& [key, value] : values) {
    header.put(key);
    std::visit([&](const auto& held) { header.put_typed(held); }, value);
  }
  uint64_t offset = 0;
  for (const GgufTensor& tensor : tensors_) {
    SKEIN_CHECK(tensor.type != GgufType::q8_0 || tensor.shape.back() % kGgufBlock == 0);
    header.put(tensor.name);
    header.put(static_cast<uint32_t>(tensor.shape.size()));
    for (size_t dim = tensor.shape.size(); dim-- > 0;)
      header.put(static_cast<uint64_t>(tensor.shape[dim]));
    header.put(static_cast<uint32_t>(tensor.type));
    header.put(offset);
    offset += static_cast<uint64_t>(padded(tensor.bytes()));
  }
  file_.append(header.bytes());
  pad(std::ssize(header.bytes()));
}

void GgufWriter::pad(int64_t bytes) {
  const std::array<std::byte, kAlignment> zeros{};
  file_.append(std::span(zeros).first(static_cast<size_t>(padded(bytes) - bytes)));
}

void GgufWriter::append(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  SKEIN_CHECK(at_ < tensors_.size());
  const int64_t whole = tensors_[at_].bytes();
  written_ += std::ssize(bytes);
  SKEIN_CHECK(written_ <= whole);
  file_.append(bytes);
  if (written_ < whole) return;
  pad(whole);
  ++at_;
  written_ = 0;
}

void GgufWriter::finish() {
  SKEIN_CHECK(at_ == tensors_.size());
  file_.finish();
}

void write_q8_0(std::span<const float> values, std::byte* out) {
  for (; !values.empty(); values = values.subspan(kGgufBlock), out += kGgufBlockBytes) {
    const auto block = values.first(kGgufBlock);
    float most = 0;
    bool finite = true;
    for (const float value : block) {
      finite = finite && std::isfinite(value);
      most = std::max(most, std::abs(value));
    }
    const float d = finite ? most / 127 : std::numeric_limits<float>::quiet_NaN();
    const float inverse = d > 0 && std::isfinite(1 / d) ? 1 / d : 0;
    const Float16 stored(d);
    std::memcpy(out, &stored.bits, 2);
    for (size_t i = 0; i < block.size(); ++i) {
      const auto number = finite ? static_cast<int8_t>(std::round(block[i] * inverse)) : int8_t{0};
      std::memcpy(out + 2 + i, &number, 1);
    }
  }
}

}  // namespace skein::formats
