// The JSON of a safetensors file, read and written.
#pragma once

#include "skein/formats/safetensors.h"

namespace skein::formats {

// Bytes an element of `type` takes; 0 for an unknown type.
int64_t safetensors_size(const std::string& type);

struct SafetensorsHeader {
  std::vector<SafeTensor> tensors;  // as they come
  std::map<std::string, std::string> metadata;
};

// A usage error that says what is wrong, without naming the file.
SafetensorsHeader parse_safetensors_header(const std::string& text);

// Gives the tensors the reference implementation's order and offsets, and returns their header,
// padded to 8 bytes.
std::string make_safetensors_header(std::vector<SafeTensor>& tensors,
                                    const std::map<std::string, std::string>& metadata);

}  // namespace skein::formats
