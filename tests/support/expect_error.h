// Errors as users read them.
#pragma once

#include <gtest/gtest.h>
#include <initializer_list>
#include <string>

#include "skein/core/error.h"

namespace skein::test {

// Runs body, which must throw an Error of that code whose text holds all of `words`.
template <class Body>
void expect_error(ExitCode code, std::initializer_list<std::string> words, Body&& body) {
  try {
    body();
    ADD_FAILURE() << "no error; wanted one with: " << (words.size() ? *words.begin() : "");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "\"" << word << "\" in: " << error.what();
  }
}

}  // namespace skein::test
