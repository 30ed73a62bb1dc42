// Options of noise, what they refuse, and what noise asks of a vocabulary.
#include <gtest/gtest.h>

#include "skein/data/noise/span_noise.h"

#include "data/data_fixtures.h"
#include "data/noise/noise_fixtures.h"

namespace skein::data {
namespace {

using test::expect_error;

void expect_refused(std::initializer_list<std::string> words, const std::string& ini) {
  NoiseConfig config;
  Options options("a test", "");
  bind(options, config);
  options.read_ini("[noise]\n" + ini, "a test");
  expect_error(ExitCode::usage, words, [&] { check(config); });
}

TEST(NoiseOptions, AreRead) {
  NoiseConfig config;
  Options options("a test", "");
  bind(options, config);
  check(config);
  options.read_ini(
      "[noise]\nkind = spans\nsamples = documents\nlength = 512\nrate = 0.2\nspan = 4\n"
      "sentinels = [S*]\nstart = <s>\nstatic = true\n",
      "a test");
  check(config);
  EXPECT_EQ(config.kind, NoiseKind::spans);
  EXPECT_EQ(config.samples, NoiseSamples::documents);
  EXPECT_EQ(config.length, 512);
  EXPECT_EQ(config.rate, 0.2);
  EXPECT_EQ(config.span, 4);
  EXPECT_EQ(config.sentinels, "[S*]");
  EXPECT_EQ(config.start, "<s>");
  EXPECT_TRUE(config.fixed);
  options.read_ini(
      "[noise]\nkind = text\nmask = 0.1\nrandom = 0.2\ndelete = 0.3\ninfill = 0.4\n"
      "permute = 0.5\nrotate = 0.6\nunit = word\n",
      "a test");
  check(config);
  EXPECT_EQ(config.kind, NoiseKind::text);
  EXPECT_EQ(config.mask, 0.1);
  EXPECT_EQ(config.random, 0.2);
  EXPECT_EQ(config.remove, 0.3);
  EXPECT_EQ(config.infill, 0.4);
  EXPECT_EQ(config.permute, 0.5);
  EXPECT_EQ(config.rotate, 0.6);
  EXPECT_EQ(config.unit, MaskUnit::word);
}

TEST(NoiseOptions, RefuseWhatCannotBe) {
  for (const std::string name : {"mask", "random", "delete", "infill", "permute", "rotate"}) {
    expect_refused({"noise." + name + " is 1.5", "from 0 to 1"}, name + " = 1.5");
    expect_refused({"noise." + name + " is -0.1"}, name + " = -0.1");
  }
  NoiseConfig no_number;
  no_number.rotate = NAN;
  expect_error(ExitCode::usage, {"noise.rotate is nan"}, [&] { check(no_number); });
  expect_refused({"noise.mask=0.5", "noise.delete=0.3", "noise.infill=0.3", "1.1 together"},
                 "mask = 0.5\ndelete = 0.3");
  expect_refused({"are all 0", "noise.infill=0.3"}, "infill = 0\npermute = 0");
  expect_refused({"noise.rate is 0", "(0, 0.9]"}, "kind = spans\nrate = 0");
  expect_refused({"noise.rate is 0.95"}, "kind = spans\nrate = 0.95");
  expect_refused({"noise.span is 0.5", "from 1 to 100"}, "span = 0.5");
  expect_refused({"noise.span is 101"}, "kind = spans\nspan = 101");
  expect_refused({"noise.sentinels is \"<s>\"", "0 times *"}, "kind = spans\nsentinels = <s>");
  expect_refused({"noise.sentinels is \"**\"", "2 times *"}, "kind = spans\nsentinels = **");
  expect_refused({"noise.length is -1"}, "length = -1");
}

TEST(NoiseVocabulary, KnowsItsTokens) {
  NoiseConfig config;
  const NoiseVocabulary text = test::noise_words(config);
  EXPECT_EQ(text.bos(), 1);
  EXPECT_EQ(text.eos(), 2);
  EXPECT_EQ(text.start(), 2) << "the end, as BART";
  EXPECT_TRUE(text.stays(2));
  EXPECT_FALSE(text.stays(4)) << "an unknown word is one";
  EXPECT_FALSE(text.stays(5));
  config.kind = NoiseKind::spans;
  const NoiseVocabulary spans = test::noise_words(config);
  EXPECT_EQ(spans.start(), 0) << "padding, as T5";
  ASSERT_EQ(spans.sentinels().size(), 40u);
  EXPECT_EQ(spans.sentinels().front(), 999);
  EXPECT_EQ(spans.sentinels().back(), 960);
  EXPECT_TRUE(spans.reserved(0) && spans.reserved(2) && spans.reserved(970));
  EXPECT_FALSE(spans.reserved(4) || spans.reserved(5));
  config.start = "<extra_id_9>";
  EXPECT_EQ(test::noise_words(config).start(), 990);
}

TEST(NoiseVocabulary, RefusesWhatLacksSomething) {
  const auto bytes = text::byte_tokenizer();
  NoiseConfig config;
  expect_error(ExitCode::usage, {"noise.kind=text", "books.h5", "<s>, <mask>, <pad>", "special"},
               [&] { NoiseVocabulary(*bytes, config, "books.h5"); });
  config.kind = NoiseKind::spans;
  expect_error(ExitCode::usage, {"noise.kind=spans", "books.h5", ": <pad>."},
               [&] { NoiseVocabulary(*bytes, config, "books.h5"); });
  config.start = "<go>";
  expect_error(ExitCode::usage, {"noise.start is \"<go>\"", "a test"},
               [&] { test::noise_words(config); });
  config.start = "";
  const NoiseVocabulary enough = test::noise_words(config);
  require_sentinels(enough, config, 40, 700, "books.h5");
  expect_error(ExitCode::usage, {"books.h5", "41", "40", "<extra_id_40>", "700"},
               [&] { require_sentinels(enough, config, 41, 700, "books.h5"); });
  config.sentinels = "[S*]";
  expect_error(ExitCode::usage, {"has 0", "there is no [S0]"},
               [&] { require_sentinels(test::noise_words(config), config, 1, 700, "books.h5"); });
}

}  // namespace
}  // namespace skein::data
