// What stands in tests/text/golden, read through its compression.
#pragma once

#include <fstream>
#include <gtest/gtest.h>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/data/files/byte_source.h"

#include "support/scratch.h"

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
