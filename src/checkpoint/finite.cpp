#include "skein/checkpoint/finite.h"

#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>

#include "skein/checkpoint/tensors.h"
#include "skein/core/files/files.h"

namespace skein::checkpoint {
namespace {

constexpr char kWeights[] = "param/";
constexpr int64_t kRun = int64_t{1} << 22;
constexpr size_t kNamed = 5;

// Those whose exponent has all bits set.
template <class Word>
int64_t count_of(const std::byte* data, int64_t count, Word exponent) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, data + i * sizeof(Word), sizeof(Word));
    found += (word & exponent) == exponent;
  }
  return found;
}

}  // namespace

int64_t count_non_finite(DType dtype, const std::byte* data, int64_t count) {
  switch (dtype) {
    case DType::f32: return count_of<uint32_t>(data, count, 0x7f800000u);
    case DType::f64: return count_of<uint64_t>(data, count, 0x7ff0000000000000u);
    case DType::bf16: return count_of<uint16_t>(data, count, 0x7f80u);
    case DType::f16: return count_of<uint16_t>(data, count, 0x7c00u);
    default: return 0;
  }
}

void NonFiniteCounts::look_at(const std::string& tensor, DType dtype, const std::byte* data,
                              int64_t count) {
  const int64_t odd = count_non_finite(dtype, data, count);
  if (odd == 0) return;
  if (found_.empty() || found_.back().first != tensor) found_.emplace_back(tensor, 0);
  found_.back().second += odd;
}

std::string NonFiniteCounts::text() const {
  if (found_.empty()) return "";
  int64_t all = 0;
  std::vector<std::string> named;
  for (const auto& [tensor, odd] : found_) {
    all += odd;
    if (named.size() < kNamed) named.push_back(fmt::format("{} ({})", tensor, odd));
  }
  return fmt::format("{} value{} in {} tensor{} {} not finite: {}{}", all, all == 1 ? "" : "s",
                     found_.size(), found_.size() == 1 ? "" : "s", all == 1 ? "is" : "are",
                     fmt::join(named, ", "), found_.size() > kNamed ? ", ..." : "");
}

NonFiniteCounts non_finite_weights(const CheckpointInfo& info) {
  NonFiniteCounts found;
  CheckpointTensors tensors(info);
  for (const auto& [name, tensor] : tensors.tensors()) {
    if (!name.starts_with(kWeights)) continue;
    const int64_t size = element_count(tensor.shape);
    Bytes run(std::min(kRun, size) * size_of(tensor.dtype));
    for (int64_t begin = 0; begin < size; begin += kRun) {
      const int64_t end = std::min(size, begin + kRun);
      tensors.read(name, begin, end, tensor.dtype, run.data());
      found.look_at(name.substr(sizeof(kWeights) - 1), tensor.dtype, run.data(), end - begin);
    }
  }
  return found;
}

}  // namespace skein::checkpoint
