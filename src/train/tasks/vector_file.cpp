#include "skein/train/tasks/vector_file.h"

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/formats/npy.h"

namespace skein::train {

VectorFile::VectorFile(const std::string& option, const std::string& path, int64_t width,
                       std::string key)
    : file_(option, path), npy_(path.ends_with(".npy")), width_(width), key_(std::move(key)) {
  require(!npy_ || file_.rewritable(),
          "{}={} is no file, but a .npy says at its beginning how many rows it has; give a .jsonl, "
          "or a file",
          option, path);
  if (npy_) file_.write(formats::npy_header(0, width));
}

void VectorFile::add(const std::vector<std::string>& named, const Tensor& vectors) {
  if (npy_)
    file_.write({reinterpret_cast<const char*>(vectors.bytes_data()),
                 static_cast<size_t>(vectors.bytes())});
  for (size_t i = 0; !npy_ && i < named.size(); ++i) {
    const float* from = vectors.data<float>() + i * width_;
    const nlohmann::ordered_json json{{key_, named[i]},
                                      {"embedding", std::vector<float>(from, from + width_)}};
    file_.write(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  rows_ += std::ssize(named);
}

void VectorFile::finish() {
  if (npy_) file_.rewrite_begin(formats::npy_header(rows_, width_));
  file_.finish();
}

}  // namespace skein::train
