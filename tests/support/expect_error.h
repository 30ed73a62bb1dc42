// Errors as users read them.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "skein/core/error.h"

namespace skein::test {

// The text of the Error of that code that body throws; "" where it throws none.
template <class Body>
std::string error_text(ExitCode code, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "no \"" << word << "\" in: " << text;
}

// Runs body, which must throw an Error of that code whose text holds all of `words`.
template <class Body>
void expect_error(ExitCode code, const std::vector<std::string>& words, const Body& body) {
  const std::string text = error_text(code, body);
  EXPECT_NE(text, "") << "no error";
  expect_words(text, words);
}

}  // namespace skein::test
