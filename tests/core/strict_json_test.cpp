#include "skein/core/strict_json.h"

#include <chrono>
#include <gtest/gtest.h>

#include "skein/core/json.h"

#include "data/data_fixtures.h"

namespace skein {
namespace {

using test::expect_error;
using Json = nlohmann::json;

TEST(StrictJson, WholeNumbersAreThoseThatFit) {
  for (const char* text : {"0", "-3", "9223372036854775807", "-9223372036854775808"}) {
    const Json value = Json::parse(text);
    EXPECT_EQ(whole<int64_t>(value, "step", "here"), value.get<int64_t>()) << text;
  }
  for (const char* text : {"1e3", "1000.0", "1.0e+3"})
    EXPECT_EQ(whole<int64_t>(Json::parse(text), "step", "here"), 1000) << text;
  EXPECT_EQ(whole<int32_t>(Json::parse("-2.5e6"), "step", "here"), -2500000);
  EXPECT_FALSE(is_whole<int32_t>(Json::parse("1e10")));
  EXPECT_FALSE(is_whole<uint32_t>(Json::parse("-1e3")));
  for (const char* text : {"9223372036854775808", "1.5", "1e-3", "1e16", "7.7e34", "-1e400",
                           "\"3\"", "[3]", "null", "true"}) {
    const Json value = Json::parse(text, nullptr, false);
    EXPECT_FALSE(is_whole<int64_t>(value)) << text;
    expect_error(ExitCode::usage, {"here: \"step\" is ", "whole number from -9223372036854775808"},
                 [&] { whole<int64_t>(value, "step", "here"); });
  }
  EXPECT_TRUE(is_whole<uint32_t>(Json(4294967295)));
  EXPECT_FALSE(is_whole<uint32_t>(Json(4294967296)));
  EXPECT_FALSE(is_whole<uint32_t>(Json(-1)));
  EXPECT_EQ(whole_list<int32_t>(Json::parse("[1, 2]"), "shape", "here"),
            (std::vector<int32_t>{1, 2}));
  expect_error(ExitCode::usage, {"\"shape\" is a JSON string"},
               [] { whole_list<int32_t>(Json::parse("[1, \"2\"]"), "shape", "here"); });
}

TEST(StrictJson, RefusesWhatIsDeepOrTwice) {
  const auto parsed = [](const std::string& text) { return parse_strictly<Json>(text, "here", 3); };
  EXPECT_EQ(parsed("[[{\"a\": [1]}]]")[0][0]["a"][0], 1);
  EXPECT_EQ(parsed("[{\"a\": 1}, {\"a\": {\"a\": 2}}]")[1]["a"]["a"], 2);
  for (const std::string open : {"[", "{\"a\": "})
    for (const int depth : {5, 200'000}) {
      std::string text;
      for (int i = 0; i < depth; ++i) text += open;
      expect_error(ExitCode::usage, {"here is nested deeper than the 3 levels"},
                   [&] { parsed(text); });
    }
  expect_error(ExitCode::usage, {"here names b twice"},
               [&] { parsed(R"({"a": {"b": 1, "b": 2}})"); });
  expect_error(ExitCode::usage, {"here is not JSON"}, [&] { parsed("[1, 2"); });
}

// Ten thousand times as long, where the time grows with the square of the objects in one list.
TEST(StrictJson, TakesTimeInProportion) {
  std::string text = "[{}";
  for (int i = 1; i < 200'000; ++i) text += ",{}";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(parse_strictly<Json>(text + "]", "here").size(), 200'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace skein
