#include "elements.h"

#include <algorithm>
#include <cstring>

#include "skein/core/error.h"

namespace skein::convert {

void ElementReader::copy(size_t weight, int64_t first, int64_t count, DType dtype,
                         std::byte* out) const {
  constexpr int64_t kRun = int64_t{1} << 22;
  const DType from = *files_.weights[weight].dtype;
  const int64_t size = size_of(from);
  if (from == dtype) return files_.read(weight, first * size, std::span(out, count * size));
  std::vector<std::byte> run;
  for (int64_t done = 0; done < count; done += kRun) {
    const int64_t part = std::min(kRun, count - done);
    run.resize(part * size);
    files_.read(weight, (first + done) * size, run);
    convert_elements(from, run.data(), dtype, out + done * size_of(dtype), part);
  }
}

// Ours [outputs, inputs] is theirs [inputs, all outputs] read down its columns.
void ElementReader::gather(size_t weight, int64_t first_column, int64_t inputs, int64_t begin,
                           int64_t end, DType dtype, std::byte* out) {
  const StoredWeight& stored = files_.weights[weight];
  const int64_t size = size_of(*stored.dtype), columns = stored.shape[1];
  if (held_ != weight) {
    whole_.resize(checkpoint::element_count(stored.shape) * size);
    files_.read(weight, 0, std::span(whole_.data(), whole_.size()));
    held_ = weight;
  }
  std::vector<std::byte> row(inputs * size);
  for (int64_t at = begin; at < end;) {
    const int64_t column = first_column + at / inputs, first = at % inputs,
                  count = std::min(inputs - first, end - at);
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(row.data() + i * size, whole_.data() + ((first + i) * columns + column) * size,
                  size);
    convert_elements(*stored.dtype, row.data(), dtype, out + (at - begin) * size_of(dtype), count);
    at += count;
  }
}

// Ours [heads * rows, inputs] is each so manieth stretch of `rows` rows there.
void ElementReader::collect(size_t weight, const ForeignTensor& tensor, const DealtPart& part,
                            int64_t begin, int64_t end, DType dtype, std::byte* out) const {
  const int64_t stretch = part.size / tensor.dealt_heads, parts = std::ssize(tensor.parts);
  for (int64_t at = begin; at < end;) {
    const int64_t head = at / stretch, first = at % stretch,
                  count = std::min(stretch - first, end - at);
    copy(weight, (head * parts + part.number) * stretch + first, count, dtype,
         out + (at - begin) * size_of(dtype));
    at += count;
  }
}

void ElementReader::read(const std::string& name, const std::vector<int64_t>& shape, int64_t begin,
                         int64_t end, DType dtype, std::byte* out) {
  const Match::TensorSlot slot = slots_.at(name);
  const auto weight = match_.found[slot.tensor];
  SKEIN_CHECK(weight.has_value());
  const ForeignTensor& tensor = match_.names.tensors[slot.tensor];
  const int64_t size = checkpoint::element_count(shape);
  if (tensor.dealt_heads > 0)
    return collect(*weight, tensor, {slot.first / size, size}, begin, end, dtype, out);
  if (!tensor.transposed) return copy(*weight, slot.first + begin, end - begin, dtype, out);
  gather(*weight, slot.first / shape[1], shape[1], begin, end, dtype, out);
}

}  // namespace skein::convert
