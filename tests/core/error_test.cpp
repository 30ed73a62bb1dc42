#include "skein/core/error.h"

#include <cerrno>
#include <functional>
#include <gtest/gtest.h>

namespace skein {
namespace {

struct Caught {
  ExitCode code = ExitCode::done;
  std::string text;
};

Caught caught(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

TEST(Error, RequireSpeaksToTheUserWithItsValues) {
  const Caught error = caught([] { require(false, "width {} does not divide by {}", 7, 2); });
  EXPECT_EQ(error.code, ExitCode::usage);
  EXPECT_EQ(error.text, "width 7 does not divide by 2");
  EXPECT_EQ(caught([] { require(true, "never"); }).text, "");
}

TEST(Error, FailIsTheOutsideWorld) {
  const Caught error = caught([] { fail("{}: disk full", "a.h5"); });
  EXPECT_EQ(error.code, ExitCode::failure);
  EXPECT_EQ(error.text, "a.h5: disk full");
}

TEST(Error, OnlyWhatIsNotThereIsAMistakeOfTheUser) {
  for (const int number : {ENOENT, ENOTDIR, ENAMETOOLONG}) {
    const Caught error = caught([&] { fail_to_open(number, "cannot open {}", "a.h5"); });
    EXPECT_EQ(error.code, ExitCode::usage) << error.text;
  }
  for (const int number : {EACCES, EIO, ESTALE, ETIMEDOUT, ELOOP, EMFILE}) {
    const Caught error = caught([&] { fail_to_open(number, "cannot open {}", "a.h5"); });
    EXPECT_EQ(error.code, ExitCode::failure) << error.text;
  }
  EXPECT_EQ(caught([] { fail_to_open(EIO, "cannot open {}", "a.h5"); }).text,
            "cannot open a.h5: Input/output error");
}

TEST(Error, ChecksNameExpressionValuesFileAndLine) {
  const Caught plain = caught([] { SKEIN_CHECK(1 + 1 == 3); });
  EXPECT_EQ(plain.code, ExitCode::internal);
  EXPECT_NE(plain.text.find("1 + 1 == 3"), std::string::npos) << plain.text;
  EXPECT_NE(plain.text.find("error_test.cpp:"), std::string::npos) << plain.text;
  const int rows = 2;
  const Caught equal = caught([&] { SKEIN_CHECK_EQ(rows, 3); });
  EXPECT_EQ(equal.code, ExitCode::internal);
  EXPECT_NE(equal.text.find("2 against 3"), std::string::npos) << equal.text;
}

TEST(Error, ChecksThatHoldAreSilentAndEvaluateOnce) {
  int calls = 0;
  EXPECT_EQ(caught([&] { SKEIN_CHECK(++calls == 1); }).text, "");
  EXPECT_EQ(caught([&] { SKEIN_CHECK_EQ(++calls, 2); }).text, "");
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace skein
