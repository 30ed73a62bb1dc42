// Files of safetensors: named tensors, single or in several files with an index.
//
//   u64 n   n bytes of JSON {"NAME": {"dtype": "F32", "shape": [2,3], "data_offsets": [0,24]}, ...}
//   the tensors' bytes
//
// Nothing a file says is believed: sizes, offsets and names are checked before any of them is used,
// and the memory that a header takes is bounded by its own length.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skein/core/files/new_file.h"
#include "skein/tensor/dtype.h"

namespace skein::formats {

struct SafeTensor {
  std::string name;
  std::string type;  // as the file says it: "F32", "BF16", "I64", ...
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0;  // bytes in the data, behind the header

  int64_t bytes() const { return end - begin; }
  // Ours; nothing for those that we have no use for.
  std::optional<DType> dtype() const;
};

// The format's name of a dtype: "F32" of f32.
std::string safetensors_type(DType dtype);

// One file, open for reading.
class SafetensorsFile {
 public:
  // A usage error naming the file and what is wrong with it: the header's length, its JSON, a name
  // that stands twice, an unknown type, a size that is not that of the shape, bytes that belong to
  // two tensors or to none.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  // In the order of their bytes.
  const std::vector<SafeTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Fills `out` with the bytes from `first` on of one of tensors(). Thread-safe.
  void read(const SafeTensor& tensor, int64_t first, std::span<std::byte> out) const;

 private:
  void read_header();

  std::string path_;
  std::unique_ptr<FileDescriptor> file_;
  int64_t data_begin_ = 0;
  std::vector<SafeTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Writes one file, tensor by tensor, under a temporary name beside it that finish() changes. The
// order of the tensors and all bytes are those of the reference implementation.
class SafetensorsWriter {
 public:
  // Of `tensors` name, type and shape count. Error(failure) when the file cannot be made.
  SafetensorsWriter(const std::string& path, std::vector<SafeTensor> tensors,
                    const std::map<std::string, std::string>& metadata);
  // In the order in which their bytes must come.
  const std::vector<SafeTensor>& tensors() const { return tensors_; }
  // The next bytes, in runs of any length.
  void append(std::span<const std::byte> bytes);
  // All bytes must have come. From here on the file is there, whole and durable.
  void finish();

 private:
  NewFile file_;
  int64_t wanted_ = 0, written_ = 0;
  std::vector<SafeTensor> tensors_;
};

// Whether a file of that name is in the folder that it is looked for in, and nowhere else.
bool is_plain_name(const std::string& name);
// What model.safetensors.index.json says: the file of each tensor, by the tensor's name. A usage
// error when it is no such JSON, names a tensor twice, or names a file outside of its own folder.
std::map<std::string, std::string> read_safetensors_index(const std::string& path);
// The text of that file.
std::string safetensors_index(const std::map<std::string, std::string>& files, int64_t total_bytes,
                              int64_t parameters);

}  // namespace skein::formats
