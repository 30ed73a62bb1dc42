#include "skein/core/options/options.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <unistd.h>

#include "skein/core/error.h"

#include "core/options_fixture.h"

namespace skein {
namespace {

using Words = std::vector<std::string>;
using test::Bound;
using test::Config;
using test::expect_words;
using test::Norm;
using test::parse_error;
using test::Scratch;
using test::Variable;
using test::Words;

TEST(Options, ReadsEveryTypeFromFlags) {
  Bound bound;
  EXPECT_EQ(bound.options.parse({"--data.shuffle=off", "--train.stages", "4", "--train.steps=10k",
                                 "--train.seed=1_000", "--train.rate=-2.5e-3", "--data.note=a b#c",
                                 "--data.stores", "x, y,z", "--train.layers=3,2,1k",
                                 "--train.factors=1, 2.5,3e-4", "--model.norm=rms"}),
            Options::Outcome::run);
  const Config& c = bound.config;
  EXPECT_FALSE(c.shuffle);
  EXPECT_EQ(c.stages, 4);
  EXPECT_EQ(c.steps, 10'000);
  EXPECT_EQ(c.seed, 1'000u);
  EXPECT_EQ(c.rate, -2.5e-3);
  EXPECT_EQ(c.note, "a b#c");
  EXPECT_EQ(c.stores, (Words{"x", "y", "z"}));
  EXPECT_EQ(c.layers, (std::vector<int64_t>{3, 2, 1000}));
  EXPECT_EQ(c.factors, (std::vector<double>{1, 2.5, 3e-4}));
  EXPECT_EQ(c.norm, Norm::rms);
}

TEST(Options, WholeNumbersMayHaveAnExponent) {
  for (const auto& [text, value] : std::vector<std::pair<std::string, int64_t>>{
           {"1e3", 1000},
           {"2.5e6", 2500000},
           {"1E+2", 100},
           {"-1e1", -10},
           {"5e0", 5},
           {"1000e-2", 10},
           {"1_000e3", 1000000},
           {"9.223372036854775807e18", std::numeric_limits<int64_t>::max()},
           {"0e0", 0}}) {
    Bound bound;
    bound.options.parse({"--train.steps=" + text});
    EXPECT_EQ(bound.config.steps, value) << text;
  }
  for (const char* text :
       {"1.25e1", "1e-1", "1e19", "1e", "e3", "-e3", ".5e1", "-.5e1", "1.e3", "1000e+-3", "1e3k",
        "1e1e1", "1e+-3", "1e99999999999", "1.5", "1.0", "0x1e3"})
    expect_words(parse_error({"--train.steps=" + std::string(text)}),
                 {fmt::format("train.steps = '{}'", text), "1k or 1e3"});
  Bound list;
  list.options.parse({"--train.layers=1e1,2"});
  EXPECT_EQ(list.config.layers, (std::vector<int64_t>{10, 2}));
}

TEST(Options, WholeNumbersMayHaveASuffix) {
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, int64_t>>{{"2k", 2000},
                                                    {"2K", 2000},
                                                    {"3M", 3'000'000},
                                                    {"-1G", -1'000'000'000},
                                                    {"2g", 2'000'000'000}}) {
    Bound bound;
    bound.options.parse({"--train.steps=" + text});
    EXPECT_EQ(bound.config.steps, value) << text;
  }
  for (const char* text : {"2m", "2T", "2kb", "k", "2 k", "10000000000G"})
    expect_words(parse_error({"--train.steps=" + std::string(text)}),
                 {fmt::format("train.steps = '{}'", text), "k, M or G for thousands"});
}

TEST(Options, WithoutArgumentsKeepsDefaults) {
  Bound bound;
  EXPECT_EQ(bound.options.parse({}), Options::Outcome::run);
  EXPECT_EQ(bound.config.steps, 100);
  EXPECT_FALSE(bound.options.given("train.steps"));
}

TEST(Options, AFlagMayTakeTheNextWordOrAnEmptyValue) {
  Bound bound;
  bound.options.parse({"--train.rate", "-1", "--data.note=", "--data.stores="});
  EXPECT_EQ(bound.config.rate, -1);
  EXPECT_EQ(bound.config.note, "");
  EXPECT_TRUE(bound.config.stores.empty());
}

TEST(Options, ProfileAloneStandsForRunProfile) {
  for (const auto& [flag, steps] :
       std::map<std::string, int64_t>{{"--profile", 3}, {"--profile=7", 7}}) {
    int64_t profile = 0, other = 0;
    Options options("test", "");
    options.add("run.profile", profile, "");
    options.add("run.steps", other, "");
    options.parse({flag, "--run.steps=2"});
    EXPECT_EQ(profile, steps);
    EXPECT_EQ(other, 2);
  }
  Bound bound;
  EXPECT_THROW(bound.options.parse({"--profile"}), Error);
}

TEST(Options, ABareTruthLeavesOtherWordsAlone) {
  Bound bound;
  bound.config.shuffle = false;
  bound.options.parse({"--data.shuffle", "file.txt", "--", "--data.note=word"}, true);
  EXPECT_TRUE(bound.config.shuffle);
  EXPECT_EQ(bound.options.words(), (Words{"file.txt", "--data.note=word"}));
  EXPECT_EQ(bound.config.note, "none");
  for (const char* no : {"false", "off", "no", "0"}) {
    Bound other;
    other.options.parse({"--data.shuffle", no, "-"}, true);
    EXPECT_FALSE(other.config.shuffle) << no;
    EXPECT_EQ(other.options.words(), Words{"-"});
  }
}

TEST(Options, FlagsBeatEnvironmentBeatsFilesBeatDefaults) {
  const Scratch folder;
  const std::string base =
      folder.write("base.ini", "[train]\nsteps = 1\nstages = 2\nseed = 3\nrate = 4\n");
  const std::string run = folder.write("run.ini", "train.stages = 5\n");
  const Variable seed("SKEIN_TRAIN_SEED", "6"), rate("SKEIN_TRAIN_RATE", "7"),
      free("SKEIN_TEST_ANYTHING", "8");
  Bound bound;
  bound.options.parse({"--train.rate=8", "--config", base, "--train.rate=9", "--config=" + run});
  EXPECT_EQ(bound.config.steps, 1);
  EXPECT_EQ(bound.config.stages, 5);
  EXPECT_EQ(bound.config.seed, 6u);
  EXPECT_EQ(bound.config.rate, 9);
  EXPECT_TRUE(bound.options.given("train.steps"));
  EXPECT_FALSE(bound.options.given("data.note"));
  expect_words(bound.options.resolved(),
               {"steps = 1  # " + base + ":2", "seed = 6  # environment SKEIN_TRAIN_SEED",
                "rate = 9  # flag --train.rate", "note = none  # default"});
}

// A file may hold the options of all commands of a project, in sections that they share, too; what
// no command has is an error all the same.
TEST(Options, FilesLeaveOptionsOfOtherCommandsAlone) {
  const Scratch folder;
  Bound bound;
  testing::internal::CaptureStderr();
  bound.options.parse({"--config", folder.write("all.ini",
                                                "[train]\nsteps = 7\nglobal_batch = 8\n[ppo]\n"
                                                "epochs = 2\ngamma = 1\n[augment]\ncrop = 0.5\n")});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(bound.config.steps, 7);
  expect_words(said, {"all.ini: left alone, for other commands than `prog`: train.global_batch, "
                      "[ppo] (2 options), augment.crop\n"});
  const std::map<std::string, Words> wrong = {
      {"[train]\nepochs = 2\n", {"unknown option 'train.epochs'", "wrong.ini:2"}},
      {"[train]\nstepz = 2\n", {"unknown option 'train.stepz'", "did you mean 'train.steps'?"}},
      {"[data]\nvalidatoin = v\n", {"did you mean 'data.validation'?"}},
      {"[ppo]\nepohcs = 2\n", {"unknown option 'ppo.epohcs'", "did you mean 'ppo.epochs'?"}},
      {"[pppo]\nepochs = 2\n", {"unknown option 'pppo.epochs'", "wrong.ini:2"}}};
  for (const auto& [text, words] : wrong)
    expect_words(parse_error({"--config", folder.write("wrong.ini", text)}), words);
}

TEST(Options, OfManyOptionsOfOtherCommandsSectionsAreTold) {
  const Scratch folder;
  std::string text;
  for (const char* key : {"lr.lr", "lr.warmup", "dpo.beta", "kl.beta", "ptx.data", "beam.size",
                          "beam.best", "chat.kind", "plan.tokens", "run.dir"})
    text += fmt::format("{} = 1\n", key);
  Bound bound;
  testing::internal::CaptureStderr();
  bound.options.parse({"--config", folder.write("many.ini", text)});
  EXPECT_TRUE(testing::internal::GetCapturedStderr().ends_with(
      "`prog`: [lr] (2 options), dpo.beta, kl.beta, ptx.data, [beam] (2 options) and those of 3 "
      "sections more\n"));
}

TEST(Options, ReadsIniComments) {
  Bound bound;
  bound.options.read_ini(
      "\xEF\xBB\xBF; first\r\n# second\r\n[train] # third\r\n  steps = 5 # "
      "fourth\r\n\r\n[data]\nnote=a#b ;c\n"
      "stores =   # nothing\n[train]\nseed=2",
      "x");
  EXPECT_EQ(bound.config.steps, 5);
  EXPECT_EQ(bound.config.note, "a#b ;c");
  EXPECT_TRUE(bound.config.stores.empty());
  EXPECT_EQ(bound.config.seed, 2u);
}

TEST(Options, ResolvedReadsBackToTheSameValues) {
  const Words notes = {"",           " blank ends ", "a # b",          "#",       "; x",
                       "\"quoted\"", "back\\slash",  "two\nlines\r\t", "a=b [c]", "ä"};
  for (const std::string& note : notes) {
    Bound first, second;
    first.options.set("data.note", note, "a\norigin");
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, std::string>>{{"train.rate", "0.1"},
                                                          {"train.seed", "18446744073709551615"},
                                                          {"train.steps", "-9223372036854775808"},
                                                          {"train.layers", "1,2"},
                                                          {"data.stores", ""},
                                                          {"data.shuffle", "no"},
                                                          {"model.norm", "rms"}})
      first.options.set(key, value, "test");
    const std::string text = first.options.resolved();
    second.options.read_ini(text, "resolved");
    EXPECT_EQ(second.config.note, note) << text;
    EXPECT_EQ(second.config.rate, 0.1);
    EXPECT_EQ(second.config.seed, std::numeric_limits<uint64_t>::max());
    EXPECT_EQ(second.config.steps, std::numeric_limits<int64_t>::min());
    EXPECT_EQ(second.config.layers, (std::vector<int64_t>{1, 2}));
    EXPECT_TRUE(second.config.stores.empty());
    EXPECT_FALSE(second.config.shuffle);
    EXPECT_EQ(second.config.norm, Norm::rms);
  }
}

TEST(Options, ResolvedKeepsEveryBitOfANumber) {
  for (const double rate : {1.0 / 3, 1e-300, 6.02214076e23, 5e-324, -0.1}) {
    Bound first, second;
    first.options.set("train.rate", fmt::format("{:.17g}", rate), "test");
    second.options.read_ini(first.options.resolved(), "resolved");
    EXPECT_EQ(second.config.rate, rate);
  }
}

TEST(Options, OutcomesOfHelpAndPrintConfig) {
  EXPECT_EQ(Bound().options.parse({"--help"}), Options::Outcome::help);
  EXPECT_EQ(Bound().options.parse({"-h", "--config", "/no/such/file"}), Options::Outcome::help);
  Bound bound;
  EXPECT_EQ(bound.options.parse({"--print-config", "--train.steps=3"}),
            Options::Outcome::print_config);
  EXPECT_EQ(bound.config.steps, 3);
}

TEST(Options, HelpListsKeysDefaultsUnitsAndChoicesWithin100Columns) {
  Config config;
  Options options("prog", "Does things.");
  std::string wordy;
  for (int i = 0; i < 60; ++i) wordy += "word" + std::to_string(i) + " ";
  options.add("train.steps", config.steps, wordy, "steps");
  options.add("train.a_key_that_is_far_too_long_for_the_left_column", config.rate, "how fast");
  options.add_choice("model.norm", config.norm, {{"layer", Norm::layer}, {"rms", Norm::rms}},
                     "kind of norm");
  options.parse({"--train.steps=5"});
  const std::string help = options.help();
  expect_words(help, {"Does things.", "Usage: prog", "[train]", "[model]", "--train.steps",
                      "steps; default 100", "one of layer, rms; default layer",
                      "how fast (default 0.0003)", "word59", "--print-config"});
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Options, LeavesVariablesOfOtherCommandsAloneInOneLine) {
  const Variable text("SKEIN_DATA_TEXT", "a"), tokens("SKEIN_GENERATE_TOKENS", "many"),
      steps("SKEIN_TRAIN_STEPS", "9");
  const Variable home("SKEIN_HOME", "/opt/skein"), root("SKEIN_ROOT", "/"), runs("SKEIN_RUNS", "r"),
      build("SKEIN_BUILD_DIR", "b");
  Bound bound;
  testing::internal::CaptureStderr();
  bound.options.parse({});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(bound.config.steps, 9);
  expect_words(said, {"prog has no such option: SKEIN_DATA_TEXT, SKEIN_GENERATE_TOKENS\n"});
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(Options, VariablesThatLookLikeNoOptionAreNotMentioned) {
  const Variable home("SKEIN_HOME", "/opt/skein"), root("SKEIN_ROOT", "/");
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(Bound().options.parse({}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Options, AKeyIsBoundOnce) {
  Bound bound;
  EXPECT_THROW(bound.options.add("train.steps", bound.config.steps, "again"), Error);
  EXPECT_THROW(bound.options.add("train_steps", bound.config.steps, "no section"), Error);
}

}  // namespace
}  // namespace skein
