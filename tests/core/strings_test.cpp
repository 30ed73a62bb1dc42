#include "skein/core/strings.h"

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

TEST(Strings, KnowsWhichBytesGoOnWithACharacter) {
  std::string first, rest;
  for (const char byte : std::string("g\u00FC\U0001F600"))
    (continues_character(byte) ? rest : first) += byte;
  EXPECT_EQ(first, "g\xC3\xF0");
  EXPECT_EQ(rest, "\xBC\x9F\x98\x80");
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

TEST(Excerpt, ShowsTextAsItIs) {
  EXPECT_EQ(excerpt("plain \"text\"\tand gr\u00FCn"), "plain \"text\"\tand gr\u00FCn");
  EXPECT_EQ(excerpt(std::string(199, 'a') + "\u00FC tail"), std::string(199, 'a') + "...");
  EXPECT_EQ(listed({"one", "two"}), "one, two");
}

TEST(Excerpt, ShowsBytesThatAreNoTextByTheirNumbers) {
  EXPECT_EQ(excerpt("\x1B[2Jred\x7F\n"), "\\x1B[2Jred\\x7F\\x0A");
  EXPECT_EQ(excerpt(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(excerpt("\xFF gr\xC3\xBCn \xC3"), "\\xFF gr\u00FCn \\xC3");
  EXPECT_EQ(listed({"\xFE", "b"}), "\\xFE, b");
}

TEST(Trimmed, LosesTheBlanksAtItsEndsAlone) {
  EXPECT_EQ(trimmed(" \t\r\n a b\v\f"), "a b");
  EXPECT_EQ(trimmed(" \n "), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\n a ", " "), "\n a");
}

TEST(Nearest, FindsTypingErrorsAndNothingElse) {
  const std::vector<std::string> known = {"encode", "decode", "inspect"};
  EXPECT_EQ(nearest("encod", known), "encode");
  EXPECT_EQ(nearest("dcode", known), "decode");
  EXPECT_EQ(nearest("inpsect", known), "inspect");
  EXPECT_EQ(nearest("train", known), "");
  EXPECT_EQ(nearest("x", {"on"}), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest("word", {}), "");
}

TEST(DidYouMean, OffersWhatIsNear) {
  EXPECT_EQ(did_you_mean("texts", {"text", "label"}), "; did you mean \"text\"?");
  EXPECT_EQ(did_you_mean("nothing", {"text", "label"}), "");
  EXPECT_EQ(did_you_mean(std::string(300, 'a'), {std::string(300, 'b')}), "") << "too long to show";
}

TEST(Readable, SizesCountsAndTimes) {
  EXPECT_EQ(readable_size(1023), "1023 bytes");
  EXPECT_EQ(readable_size(1536), "1.5 KiB");
  EXPECT_EQ(readable_size(int64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(readable_count(5123), "5.1k");
  EXPECT_EQ(readable_count(999), "999");
  EXPECT_EQ(readable_count(1.2e12, " "), "1.2 T");
  EXPECT_EQ(readable_seconds(7.1), "7s");
  EXPECT_EQ(readable_seconds(250), "4m10s");
  EXPECT_EQ(readable_seconds(93784.2), "1d02h");
  EXPECT_EQ(readable_seconds(1e300 * 1e300), "unknown");
}

TEST(Log, WritesNothingThatSteersATerminal) {
  testing::internal::CaptureStderr();
  log::info("one\ttwo\nthree \x1B[2J \xFF gr\u00FCn");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(" one\ttwo\nthree \\x1B[2J \\xFF gr\u00FCn\n"), std::string::npos) << said;
}

}  // namespace
}  // namespace skein
