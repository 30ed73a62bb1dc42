// A small reader of GGUF files, which shares nothing with what writes them.
#pragma once

#include <cstring>
#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "skein/core/json.h"

namespace skein::test {

struct GgufFile {
  struct Tensor {
    std::string name, type;
    std::vector<uint64_t> shape;  // rows first
    std::string bytes;
  };

  // Keys with types and values as JSON; floats are their bits.
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<Tensor> tensors;

  explicit GgufFile(const std::string& bytes) : bytes_(bytes) {
    if (bytes_.substr(0, 4) != "GGUF") throw std::runtime_error("no GGUF");
    at_ = 4;
    if (number<uint32_t>() != 3) throw std::runtime_error("another version");
    const auto tensor_count = number<uint64_t>(), value_count = number<uint64_t>();
    for (uint64_t i = 0; i < value_count; ++i) read_value();
    std::vector<uint64_t> offsets;
    for (uint64_t i = 0; i < tensor_count; ++i) offsets.push_back(read_tensor());
    const size_t begin = (at_ + 31) / 32 * 32;
    for (size_t i = 0; i < tensors.size(); ++i) take_bytes(tensors[i], begin + offsets[i]);
  }

  const Tensor& tensor(const std::string& name) const {
    for (const Tensor& one : tensors)
      if (one.name == name) return one;
    throw std::runtime_error("no tensor " + name);
  }
  // A value without its type.
  nlohmann::json value(const std::string& key) const {
    for (const auto& [name, text] : values)
      if (name == key) return nlohmann::json::parse(text.substr(text.find(' ') + 1));
    return nullptr;
  }
  // As tools/make_gguf_golden.py lists the file.
  std::string list() const {
    std::string lines;
    for (const auto& [key, text] : values) lines += key + " " + text + "\n";
    for (const Tensor& one : tensors)
      lines += fmt::format("{} {} [{}] {:016x}\n", one.name, one.type, fmt::join(one.shape, ","),
                           fnv(one.bytes));
    return lines;
  }

 private:
  static uint64_t fnv(const std::string& bytes) {
    uint64_t total = 0xcbf29ce484222325u;
    for (const unsigned char byte : bytes) total = (total ^ byte) * 0x100000001b3u;
    return total;
  }

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, bytes_.substr(at_, sizeof(T)).data(), sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string text() {
    const auto size = number<uint64_t>();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  nlohmann::json scalar(uint32_t type) {
    switch (type) {
      case 0: return number<uint8_t>();
      case 4:
      case 6: return number<uint32_t>();
      case 5: return number<int32_t>();
      case 7: return number<uint8_t>() != 0;
      case 8: return text();
      default: throw std::runtime_error(fmt::format("type {}", type));
    }
  }
  static std::string type_name(uint32_t type) {
    const std::map<uint32_t, std::string> names{{0, "UINT8"},   {4, "UINT32"}, {5, "INT32"},
                                                {6, "FLOAT32"}, {7, "BOOL"},   {8, "STRING"}};
    return names.at(type);
  }

  void read_value() {
    const std::string key = text();
    auto type = number<uint32_t>();
    std::string name;
    nlohmann::json value;
    if (type == 9) {
      type = number<uint32_t>();
      name = "ARRAY:";
      value = nlohmann::json::array();
      const auto count = number<uint64_t>();
      for (uint64_t i = 0; i < count; ++i) value.push_back(scalar(type));
    } else {
      value = scalar(type);
    }
    values.emplace_back(key, name + type_name(type) + " " + value.dump(-1, ' ', true));
  }

  uint64_t read_tensor() {
    Tensor made{text(), "", {}, ""};
    const auto dims = number<uint32_t>();
    for (uint32_t i = 0; i < dims; ++i) made.shape.insert(made.shape.begin(), number<uint64_t>());
    const std::map<uint32_t, std::string> types{{0, "F32"}, {1, "F16"}, {8, "Q8_0"}, {30, "BF16"}};
    made.type = types.at(number<uint32_t>());
    tensors.push_back(made);
    return number<uint64_t>();
  }

  void take_bytes(Tensor& tensor, size_t begin) {
    uint64_t elements = 1;
    for (const uint64_t size : tensor.shape) elements *= size;
    const uint64_t bytes = tensor.type == "F32"    ? elements * 4
                           : tensor.type == "Q8_0" ? elements / 32 * 34
                                                   : elements * 2;
    if (begin % 32 != 0 || begin + bytes > bytes_.size())
      throw std::runtime_error(tensor.name + " lies elsewhere");
    tensor.bytes = bytes_.substr(begin, bytes);
  }

  std::string bytes_;
  size_t at_ = 0;
};

}  // namespace skein::test
