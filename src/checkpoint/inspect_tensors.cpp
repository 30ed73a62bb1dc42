#include "inspect_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "skein/checkpoint/checkpoint.h"
#include "skein/comm/local.h"
#include "skein/core/error.h"
#include "skein/core/options/options.h"
#include "skein/core/strings.h"

#include "open.h"

namespace skein::checkpoint {
namespace {

constexpr int64_t kBatchBytes = int64_t{1} << 30;
constexpr int64_t kValuesShown = 8;

template <class T>
T element(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

// Floating bits as ordinals: integers in the order of the values, neighbours one apart, the same
// for both zeros.
template <class Bits>
int64_t ordinal_of(Bits bits) {
  constexpr Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
  const int64_t magnitude = bits & (sign - 1);
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

int64_t ordinal_of(DType dtype, const std::byte* data, int64_t i) {
  switch (dtype) {
    case DType::f32: return ordinal_of(element<uint32_t>(data, i));
    case DType::f64: return ordinal_of(element<uint64_t>(data, i));
    case DType::bf16:
    case DType::f16: return ordinal_of(element<uint16_t>(data, i));
    case DType::i32: return element<int32_t>(data, i);
    case DType::i64: return element<int64_t>(data, i);
    case DType::u8: return element<uint8_t>(data, i);
  }
  return 0;
}

double as_number(DType dtype, const std::byte* data, int64_t i) {
  switch (dtype) {
    case DType::f32: return element<float>(data, i);
    case DType::f64: return element<double>(data, i);
    case DType::bf16: return static_cast<float>(element<BFloat16>(data, i));
    case DType::f16: return static_cast<float>(element<Float16>(data, i));
    default: return ordinal_of(dtype, data, i);
  }
}

uint64_t steps_between(int64_t a, int64_t b) {
  return a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
               : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
}

Piece whole_piece(const std::string& name, const StoredTensor& tensor) {
  return {.name = name,
          .dtype = tensor.dtype,
          .shape = tensor.shape,
          .box_start = std::vector<int64_t>(tensor.shape.size(), 0),
          .box_extent = tensor.shape,
          .end = element_count(tensor.shape)};
}

struct LoadedTensors {
  std::vector<Bytes> memory;
  std::vector<Piece> pieces;
};

LoadedTensors load_whole(const std::string& path, const Manifest& manifest,
                         const std::vector<std::string>& names) {
  LoadedTensors loaded;
  for (const std::string& name : names) {
    Piece piece = whole_piece(name, manifest.tensors.at(name));
    loaded.memory.emplace_back(piece.bytes());
    piece.data = loaded.memory.back().data();
    loaded.pieces.push_back(std::move(piece));
  }
  const auto alone = single_rank();
  load_checkpoint(info_of(path, manifest), loaded.pieces, false, *alone);
  return loaded;
}

struct Stats {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0;  // squares of distances from the mean, after the second pass
  double norm_squares = 0;
  int64_t zeros = 0, odd = 0, finite = 0;
};

Stats stats_of(const Piece& piece) {
  Stats stats;
  for (int64_t i = 0; i < piece.end; ++i) {
    const double value = as_number(piece.dtype, piece.data, i);
    if (!std::isfinite(value)) {
      ++stats.odd;
      continue;
    }
    ++stats.finite;
    stats.zeros += value == 0;
    stats.least = std::min(stats.least, value);
    stats.most = std::max(stats.most, value);
    stats.sum += value;
    stats.norm_squares += value * value;
  }
  const double mean = stats.sum / std::max<int64_t>(stats.finite, 1);
  for (int64_t i = 0; i < piece.end; ++i) {
    const double away = as_number(piece.dtype, piece.data, i) - mean;
    if (std::isfinite(away)) stats.squares += away * away;
  }
  return stats;
}

void print_stats_of(const Piece& piece, std::ostream& out) {
  const Stats stats = stats_of(piece);
  out << fmt::format("{}  {} {}\n", piece.name, name_of(piece.dtype), shape_text(piece.shape));
  if (stats.finite > 0) {
    const double count = stats.finite;
    out << fmt::format("  min {:.9g}  max {:.9g}  mean {:.9g}  std {:.9g}  norm {:.9g}\n",
                       stats.least, stats.most, stats.sum / count, std::sqrt(stats.squares / count),
                       std::sqrt(stats.norm_squares));
  }
  out << fmt::format("  {} elements, {} zeros, {} not finite\n  first:", piece.end, stats.zeros,
                     stats.odd);
  for (int64_t i = 0; i < std::min(piece.end, kValuesShown); ++i)
    out << fmt::format(" {:.9g}", as_number(piece.dtype, piece.data, i));
  out << "\n";
}

void check_names(const std::string& path, const Manifest& manifest,
                 const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const auto& [name, tensor] : manifest.tensors) known.push_back(name);
  for (const std::string& name : names) {
    if (manifest.tensors.contains(name)) continue;
    const std::string near = nearest(name, known);
    fail_usage("{} holds no tensor '{}'{}; `skein-inspect tensors` lists them", path, name,
               near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
  }
}

// What differs without a look at the values; "" when the values have to decide.
std::string kind_difference(const StoredTensor* first, const StoredTensor* second) {
  if (first == nullptr) return "only in the second";
  if (second == nullptr) return "only in the first";
  if (first->shape != second->shape)
    return fmt::format("shape {} against {}", shape_text(first->shape), shape_text(second->shape));
  if (first->dtype != second->dtype)
    return fmt::format("type {} against {}", name_of(first->dtype), name_of(second->dtype));
  return "";
}

std::string value_difference(const Piece& first, const Piece& second) {
  if (first.bytes() == 0 || std::memcmp(first.data, second.data, first.bytes()) == 0) return "";
  int64_t differing = 0, first_index = -1;
  uint64_t steps = 0;
  double distance = 0;
  const int64_t width = size_of(first.dtype);
  for (int64_t i = 0; i < first.end; ++i) {
    if (std::memcmp(first.data + i * width, second.data + i * width, width) == 0) continue;
    if (differing++ == 0) first_index = i;
    steps = std::max(steps, steps_between(ordinal_of(first.dtype, first.data, i),
                                          ordinal_of(first.dtype, second.data, i)));
    const double away =
        std::fabs(as_number(first.dtype, first.data, i) - as_number(first.dtype, second.data, i));
    if (std::isnan(away) || away > distance) distance = away;
  }
  return fmt::format(
      "{} of {} elements differ, the first at {}: {:.9g} against {:.9g}; at most {} ulp, {:.3g} "
      "absolute",
      differing, first.end, first_index, as_number(first.dtype, first.data, first_index),
      as_number(first.dtype, second.data, first_index), steps, distance);
}

const StoredTensor* tensor_or_null(const Manifest& manifest, const std::string& name) {
  const auto entry = manifest.tensors.find(name);
  return entry == manifest.tensors.end() ? nullptr : &entry->second;
}

struct Side {
  std::string path;
  Manifest manifest;
};

class Comparison {
 public:
  Comparison(const Side& first, const Side& second, std::ostream& out)
      : first_(first), second_(second), out_(out) {}

  // Names in order; small tensors are read together, since each reading takes whole shards.
  bool run() {
    std::set<std::string> names;
    for (const auto& [name, tensor] : first_.manifest.tensors) names.insert(name);
    for (const auto& [name, tensor] : second_.manifest.tensors) names.insert(name);
    for (const std::string& name : names) visit(name);
    compare_values();
    if (differing_ == 0)
      out_ << fmt::format("{} tensors are equal bit for bit\n", names.size());
    else
      out_ << fmt::format("{} of {} tensors differ\n", differing_, names.size());
    return differing_ == 0;
  }

 private:
  void visit(const std::string& name) {
    const StoredTensor* tensor = tensor_or_null(first_.manifest, name);
    const std::string kind = kind_difference(tensor, tensor_or_null(second_.manifest, name));
    if (!kind.empty()) {
      compare_values();
      return report(name, kind);
    }
    waiting_.push_back(name);
    waiting_bytes_ += whole_piece(name, *tensor).bytes();
    if (waiting_bytes_ >= kBatchBytes) compare_values();
  }

  void compare_values() {
    if (waiting_.empty()) return;
    const LoadedTensors first = load_whole(first_.path, first_.manifest, waiting_);
    const LoadedTensors second = load_whole(second_.path, second_.manifest, waiting_);
    for (size_t i = 0; i < waiting_.size(); ++i) {
      const std::string text = value_difference(first.pieces[i], second.pieces[i]);
      if (!text.empty()) report(waiting_[i], text);
    }
    waiting_.clear();
    waiting_bytes_ = 0;
  }

  void report(const std::string& name, const std::string& text) {
    if (differing_++ == 0) out_ << fmt::format("first differing tensor: {}\n", name);
    out_ << fmt::format("  {}: {}\n", name, text);
  }

  const Side& first_;
  const Side& second_;
  std::ostream& out_;
  std::vector<std::string> waiting_;
  int64_t waiting_bytes_ = 0;
  int64_t differing_ = 0;
};

}  // namespace

void print_stats(const std::string& path, const std::vector<std::string>& names,
                 std::ostream& out) {
  const Manifest manifest = read_manifest(path);
  check_names(path, manifest, names);
  for (const std::string& name : names)
    print_stats_of(load_whole(path, manifest, {name}).pieces.front(), out);
}

bool print_difference(const std::string& first, const std::string& second, std::ostream& out) {
  const Side left{first, read_manifest(first)}, right{second, read_manifest(second)};
  return Comparison(left, right, out).run();
}

}  // namespace skein::checkpoint
