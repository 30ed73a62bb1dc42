// A file of texts or pictures as vectors: an array of f32 with a row each (.npy), or a JSON object
// a line.
#pragma once

#include <string>
#include <vector>

#include "skein/core/files/result_file.h"
#include "skein/tensor/tensor.h"

namespace skein::train {

class VectorFile {
 public:
  // path: ends in .npy, or JSONL; "": JSONL to stdout. option: that named it, for messages. width:
  // numbers of a vector. key: of what the vectors stand for. Usage errors as ResultFile, and for a
  // .npy that is no file.
  VectorFile(const std::string& option, const std::string& path, int64_t width,
             std::string key = "text");

  // vectors: f32, a row for each of what they stand for.
  void add(const std::vector<std::string>& named, const Tensor& vectors);
  // From here on the file is there.
  void finish();

 private:
  ResultFile file_;
  bool npy_;
  int64_t width_, rows_ = 0;
  std::string key_;
};

}  // namespace skein::train
