#include "skein/text/split/split_pattern.h"

#include <regex.h>

#include "skein/text/tokenizer.h"

#include "text/golden_files.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct Divided {
  Words words, between;
};

Divided divided(const SplitPattern& pattern, const std::string& text) {
  Divided made;
  pattern.divide(text, [&](std::string_view piece, bool matched) {
    made.words.emplace_back(piece);
    if (!matched) made.between.emplace_back(piece);
  });
  return made;
}

Words words(const std::string& expression, const std::string& text) {
  return divided(SplitPattern(expression), text).words;
}

// What the reference makes of patterns that other libraries read otherwise.
TEST(SplitPattern, DividesAsTheReference) {
  const auto lines = test::golden_lines("patterns.jsonl.xz");
  EXPECT_GT(lines.size(), 75u);
  for (const Json& line : lines) {
    const auto expression = line["pattern"].get<std::string>();
    if (line.contains("refused")) {
      test::expect_refused({expression}, [&] { SplitPattern pattern(expression); });
      continue;
    }
    const SplitPattern pattern(expression);
    for (const Json& string : line["strings"]) {
      const Divided found = divided(pattern, string["text"].get<std::string>());
      EXPECT_EQ(Json(found.words), string["words"]) << expression << " on " << string["text"];
      EXPECT_EQ(Json(found.between), string["between"]) << expression << " on " << string["text"];
    }
  }
}

// Each word begins with a space that ByteLevel puts there.
std::string spaced(const Json& words) {
  std::string text;
  for (const Json& item : words) {
    const auto word = item.get<std::string>();
    text += (word.starts_with(' ') ? "" : " ") + word;
  }
  return text;
}

TEST(SplitPattern, CharacterClassesAreTheReferences) {
  Json json = Json::parse(test::golden_text("neox-20b-tokenizer.json.xz"));
  json["normalizer"] = nullptr;
  json["model"]["merges"] = Json::array();
  json["added_tokens"] = Json::array();
  for (const Json& line : test::golden_lines("classes.jsonl.xz")) {
    const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}};
    json["pre_tokenizer"] = {{"type", "Sequence"},
                             {"pretokenizers", {line["pre_tokenizer"], bytes}}};
    const auto tokenizer = tokenizer_from_json(json.dump());
    for (const Json& string : line["strings"]) {
      const auto text = string["text"].get<std::string>();
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), spaced(string["words"]))
          << line["pre_tokenizer"] << " on " << string["text"];
    }
  }
}

TEST(SplitPattern, BrokenBytesNeverMatch) {
  EXPECT_EQ(words(".",
                  "a\xff\xfe"
                  "b\xe4\xb8"),
            (Words{"a", "\xff\xfe", "b", "\xe4\xb8"}));
  EXPECT_EQ(words("x*", "\xff"), Words{"\xff"});
}

TEST(SplitPattern, ThatIsWrongIsRefused) {
  test::expect_refused({"regular expression a(b", "unmatched"},
                       [] { SplitPattern pattern("a(b"); });
  test::expect_refused({"\\p{Klingon}", "invalid character property name"},
                       [] { SplitPattern pattern("\\p{Klingon}"); });
  test::expect_refused({"65537 bytes", "too long"},
                       [] { SplitPattern pattern(std::string(65537, 'a')); });
}

TEST(SplitPattern, GivesUpWhereBacktrackingExplodes) {
  const SplitPattern pattern("^(a+)+$");
  test::expect_refused({"(a+)+", "cannot be matched", "retry-limit"},
                       [&] { divided(pattern, std::string(60, 'a') + "b"); });
}

// Releases of the library do not agree on these.
TEST(SplitPattern, HasTheReferencesClassesOrRefusesThem) {
  const auto divides_or_refuses = [](const std::string& expression, const std::string& text) {
    try {
      EXPECT_EQ(words(expression, text), Words{text});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_NE(std::string(error.what()).find("fewer characters"), std::string::npos)
          << error.what();
    }
  };
  divides_or_refuses("[[:punct:]]+", "$+!");
  divides_or_refuses("\\p{Word}+", "a\u00b2");
  EXPECT_EQ(words("\\p{Punct}+", "$!"), (Words{"$", "!"}));
}

TEST(SplitPattern, DividesInSeveralThreadsAtOnce) {
  const SplitPattern pattern("\\p{L}+");
  const auto body = [&] {
    for (int i = 0; i < 300; ++i) EXPECT_EQ(divided(pattern, "ab 12").words, (Words{"ab", " 12"}));
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(body);
}

// The library of the patterns has functions of the same names, which take no notice of most of what
// is asked here.
TEST(SplitPattern, LeavesTheCLibrarysExpressionsAlone) {
  regex_t expression{};
  ASSERT_EQ(regcomp(&expression, "^(ab|[[:digit:]]+)$", REG_EXTENDED | REG_NOSUB), 0);
  EXPECT_EQ(regexec(&expression, "2026", 0, nullptr, 0), 0);
  EXPECT_EQ(regexec(&expression, "2026a", 0, nullptr, 0), REG_NOMATCH);
  regfree(&expression);
  ASSERT_EQ(regcomp(&expression, "()", REG_EXTENDED), 0);
  EXPECT_EQ(regexec(&expression, "", 0, nullptr, 0), 0);
  regfree(&expression);
}

}  // namespace
}  // namespace skein::text
