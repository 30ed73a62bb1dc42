// TensorBoard's event files, read by their definition alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/scratch.h"

namespace skein::test {

template <class T>
T number_at(const std::string& bytes, size_t at) {
  T value;
  if (at + sizeof(T) > bytes.size()) throw std::runtime_error("ends inside a number");
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Bit by bit, from the definition.
inline uint32_t masked_sum(const std::string& bytes) {
  uint32_t state = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    state ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) state = state & 1 ? state >> 1 ^ 0x82F63B78u : state >> 1;
  }
  state = ~state;
  return ((state >> 15) | (state << 17)) + 0xA282EAD8u;
}

// The payloads of a file of records, sums checked.
inline std::vector<std::string> payloads_of(const std::string& file) {
  std::vector<std::string> payloads;
  for (size_t at = 0; at < file.size();) {
    const auto length = number_at<uint64_t>(file, at);
    EXPECT_EQ(number_at<uint32_t>(file, at + 8), masked_sum(file.substr(at, 8)));
    payloads.push_back(file.substr(at + 12, length));
    EXPECT_EQ(payloads.back().size(), length);
    EXPECT_EQ(number_at<uint32_t>(file, at + 12 + length), masked_sum(payloads.back()));
    at += 16 + length;
  }
  return payloads;
}

inline uint64_t varint_at(const std::string& bytes, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

// Fields of a protobuf message by number, each as its raw bytes (varints as 8 bytes).
inline std::map<uint64_t, std::string> fields_of(const std::string& message) {
  std::map<uint64_t, std::string> fields;
  for (size_t at = 0; at < message.size();) {
    const uint64_t key = varint_at(message, at);
    size_t length = key % 8 == 1 ? 8 : 4;
    if (key % 8 == 0) {
      const uint64_t value = varint_at(message, at);
      fields[key / 8] = std::string(reinterpret_cast<const char*>(&value), 8);
      continue;
    }
    if (key % 8 == 2)
      length = varint_at(message, at);
    else if (key % 8 != 1 && key % 8 != 5)
      throw std::runtime_error("unknown wire type");
    if (at + length > message.size()) throw std::runtime_error("field ends outside its message");
    fields[key / 8] = message.substr(at, length);
    at += length;
  }
  return fields;
}

struct Scalar {
  std::string tag;
  int64_t step;
  float value;
};

inline Scalar scalar_of(const std::string& payload) {
  auto event = fields_of(payload);
  auto value = fields_of(fields_of(event.at(5)).at(1));
  return {value.at(1), number_at<int64_t>(event.at(2), 0), number_at<float>(value.at(2), 0)};
}

// The curves of a folder as TensorBoard has them: files by name, and a session that starts with a
// step drops what was told of it and of later ones.
inline std::map<std::string, std::vector<std::pair<int64_t, float>>> event_curves(
    const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::map<std::string, std::vector<std::pair<int64_t, float>>> curves;
  for (const std::string& file : files)
    for (const std::string& payload : payloads_of(bytes_of_file(file))) {
      auto event = fields_of(payload);
      if (event.count(7))
        for (auto& [tag, curve] : curves)
          std::erase_if(curve, [start = number_at<int64_t>(event.at(2), 0)](const auto& point) {
            return point.first >= start;
          });
      if (!event.count(5) || !fields_of(fields_of(event.at(5)).at(1)).count(2)) continue;
      const Scalar scalar = scalar_of(payload);
      curves[scalar.tag].emplace_back(scalar.step, scalar.value);
    }
  return curves;
}

}  // namespace skein::test
