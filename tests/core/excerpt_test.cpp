#include "skein/core/excerpt.h"

#include <gtest/gtest.h>

#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/core/strict_json.h"

namespace skein {
namespace {

TEST(Excerpt, KnowsWhatIsUtf8) {
  for (const std::string& good :
       {std::string("gr\u00FCn"), std::string("\u4E16\u754C"), std::string("\U0001F600"),
        std::string("\U0010FFFF"), std::string("\uD7FF\uE000")})
    EXPECT_EQ(visible(good), good);
  EXPECT_EQ(visible("\xC0\xAF"), "\\xC0\\xAF") << "too long an encoding";
  EXPECT_EQ(visible("\xE0\x9F\xBF"), "\\xE0\\x9F\\xBF");
  EXPECT_EQ(visible("\xED\xA0\x80"), "\\xED\\xA0\\x80") << "half of a pair";
  EXPECT_EQ(visible("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80") << "beyond the last character";
  EXPECT_EQ(visible("\xE2\x82"), "\\xE2\\x82") << "cut short";
  EXPECT_EQ(visible("a\xC2\x9B"
                    "2J"),
            "a\\xC2\\x9B2J")
      << "a control sequence in one character";
}

TEST(Excerpt, KeepsTheControlCharactersThatItIsAskedTo) {
  EXPECT_EQ(visible("a\tb\nc\r"), "a\tb\\x0Ac\\x0D");
  EXPECT_EQ(visible("a\tb\nc\r", "\t\n"), "a\tb\nc\\x0D");
}

TEST(Excerpt, OfTheJsonLibraryIsWithoutItsNames) {
  EXPECT_EQ(json_fault("plain words"), "plain words");
  const std::string text = "{\"a\": \x1B" + std::string(1000, 'x');
  try {
    parse_strictly<nlohmann::json>(text, "x.json");
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_TRUE(said.starts_with("x.json is not JSON: parse error at line 1, column 7")) << said;
    EXPECT_EQ(said.find("json.exception"), std::string::npos) << said;
    EXPECT_LT(said.size(), 300u) << said;
  }
}

TEST(Log, WritesNothingThatSteersATerminal) {
  testing::internal::CaptureStderr();
  log::info("one\ttwo\nthree \x1B[2J \xFF gr\u00FCn");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(" one\ttwo\nthree \\x1B[2J \\xFF gr\u00FCn\n"), std::string::npos) << said;
}

}  // namespace
}  // namespace skein
