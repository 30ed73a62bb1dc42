// Files of GGUF, version 3, which llama.cpp and its kin read: values by key, then tensors. All
// numbers are little-endian; a string is a u64 of its bytes, and the bytes.
//
//   "GGUF"   u32 3   u64 tensors   u64 values
//   of each value: its key, a string; u32 type; the value. A list: u32 type, u64 count, the values
//   of each tensor: its name, a string; u32 dims; u64 size of each, the last of ours first; u32
//   type; u64 offset of its bytes from those of the first
//   zeros up to a multiple of 32; the tensors' bytes, each with zeros up to a multiple of 32
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "skein/core/files/new_file.h"
#include "skein/tensor/dtype.h"

namespace skein::formats {

// Of elements; q8_0: each 32 of a row are an f16 d and 32 whole numbers from -127 to 127, which
// stand for d times these.
enum class GgufType : uint32_t { f32 = 0, f16 = 1, q8_0 = 8, bf16 = 30 };
inline constexpr int64_t kGgufBlock = 32, kGgufBlockBytes = 34;  // of q8_0

// "Q8_0".
std::string gguf_type_name(GgufType type);
// A usage error for a dtype that the files have no type for that llama.cpp computes with.
GgufType gguf_type(DType dtype);

using GgufValue = std::variant<uint32_t, float, bool, std::string, std::vector<uint8_t>,
                               std::vector<int32_t>, std::vector<float>, std::vector<std::string>>;
// In the order in which they are written.
using GgufValues = std::vector<std::pair<std::string, GgufValue>>;

struct GgufTensor {
  std::string name;
  GgufType type = GgufType::f32;
  std::vector<int64_t> shape;  // as ours, rows first

  int64_t bytes() const;
};

// Writes one file, tensor by tensor, under a temporary name beside it that finish() changes.
class GgufWriter {
 public:
  // Rows of q8_0 have whole blocks. Error(failure) when the file cannot be made.
  GgufWriter(const std::string& path, const GgufValues& values, std::vector<GgufTensor> tensors);
  // The next bytes of the tensors in their order, in runs of any length that end with a tensor
  // where they reach its end.
  void append(std::span<const std::byte> bytes);
  // All bytes must have come. From here on the file is there, whole and durable.
  void finish();

 private:
  void pad(int64_t bytes);

  NewFile file_;
  std::vector<GgufTensor> tensors_;
  size_t at_ = 0;        // the tensor whose bytes come
  int64_t written_ = 0;  // of it
};

// Blocks of q8_0: d is the largest magnitude / 127, and numbers are rounded to nearest, halves away
// from zero, as ggml's reference does. A block with a value that is not finite is NaN as a whole.
// values: whole blocks. out: kGgufBlockBytes each.
void write_q8_0(std::span<const float> values, std::byte* out);

}  // namespace skein::formats
