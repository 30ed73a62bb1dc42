// What stands in tests/text/golden, read through its compression, and scratch space.
#pragma once

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/data/files/byte_source.h"

namespace skein::test {

inline std::string golden_text(const std::string& name) {
  const auto source = data::open_source("text/golden/" + name);
  std::string text;
  std::vector<char> buffer(size_t{1} << 16);
  while (const size_t got = source->read(buffer.data(), buffer.size()))
    text.append(buffer.data(), got);
  return text;
}

inline std::vector<nlohmann::json> golden_lines(const std::string& name) {
  std::istringstream text(golden_text(name));
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// A fresh directory, removed with all it holds.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "skein-text-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

// Runs body, which must throw a usage error whose text holds all of `words`.
template <class Body>
void expect_refused(std::initializer_list<std::string> words, Body&& body) {
  try {
    body();
    ADD_FAILURE() << "accepted; expected: " << *words.begin();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    for (const auto& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << word << " in: " << error.what();
  }
}

}  // namespace skein::test
