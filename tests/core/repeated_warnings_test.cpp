#include "skein/core/repeated_warnings.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdexcept>

#include "skein/core/numbers.h"

namespace skein {
namespace {

template <class Body>
std::string said(Body&& body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

int64_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(RepeatedWarnings, TellTheFirstTenAndCountTheOthers) {
  RepeatedWarnings warnings;
  const std::string first = said([&] {
    for (int i = 1; i <= 25; ++i)
      warnings.tell("cut answers", fmt::format("warning {} of them", i));
  });
  EXPECT_EQ(lines(first), 10);
  EXPECT_NE(first.find("warning 10 of them; further ones"), std::string::npos) << first;
  EXPECT_EQ(first.find("warning 11 of them"), std::string::npos);
  const std::string rest = said([&] { warnings.finish(); });
  EXPECT_NE(rest.find("25 warnings of cut answers, of which 15 are not shown"), std::string::npos)
      << rest;
  EXPECT_EQ(said([&] { warnings.finish(); }), "") << "it was told already";
}

TEST(RepeatedWarnings, CountEachKindApart) {
  RepeatedWarnings warnings;
  const std::string told = said([&] {
    for (int i = 0; i < 10; ++i)
      for (const char* kind : {"one", "two"}) warnings.tell(kind, "text");
  });
  EXPECT_EQ(lines(told), 20);
  EXPECT_EQ(said([&] { warnings.finish(); }), "") << "all of them were told";
}

TEST(RepeatedWarnings, AreCountedWhereARunFails) {
  const std::string told = said([] {
    try {
      RepeatedWarnings warnings;
      for (int i = 0; i < 12; ++i) warnings.tell("skipped steps", "text");
      throw std::runtime_error("the run fails");
    } catch (const std::runtime_error&) {
    }
  });
  EXPECT_EQ(lines(told), 11);
  EXPECT_NE(told.find("12 warnings of skipped steps, of which 2 are not shown"), std::string::npos)
      << told;
}

TEST(ShownNumber, HasNoSignWhereItIsNone) {
  EXPECT_EQ(fmt::format("{:.3f}", shown_number(-std::nan(""))), "nan");
  EXPECT_EQ(fmt::format("{}", shown_number(-0.5)), "-0.5");
  EXPECT_EQ(fmt::format("{}", shown_number(-std::numeric_limits<double>::infinity())), "-inf");
}

}  // namespace
}  // namespace skein
