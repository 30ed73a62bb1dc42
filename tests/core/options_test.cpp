#include "skein/core/options/options.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <stdlib.h>
#include <unistd.h>

#include "skein/core/error.h"
#include "skein/core/strings.h"

namespace skein {
namespace {

using Words = std::vector<std::string>;
enum class Norm { layer, rms };

struct Config {
  bool shuffle = true;
  int stages = 1;
  int64_t steps = 100;
  uint64_t seed = 7;
  double rate = 3e-4;
  std::string note = "none";
  Words stores = {"a", "b"};
  std::vector<int64_t> layers;
  Norm norm = Norm::layer;
};

struct Bound {
  Config config;
  Options options{"prog", "Does things."};
  Bound() {
    options.add("data.shuffle", config.shuffle, "visit in shuffled order");
    options.add("train.stages", config.stages, "pipeline stages");
    options.add("train.steps", config.steps, "optimizer steps", "steps");
    options.add("train.seed", config.seed, "of everything");
    options.add("train.rate", config.rate, "how fast");
    options.add("data.note", config.note, "free text");
    options.add("data.stores", config.stores, "what to read");
    options.add("train.layers", config.layers, "blocks of each stage");
    options.add_choice("model.norm", config.norm, {{"layer", Norm::layer}, {"rms", Norm::rms}},
                       "kind of norm");
  }
};

class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
};

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "skein_options_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// The text of the usage error that body throws; "" when it throws none.
template <class Body>
std::string usage_error(Body body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    return error.what();
  }
  return "";
}

std::string parse_error(const Words& args, bool allow_words = false) {
  return usage_error([&] { Bound().options.parse(args, allow_words); });
}

std::string ini_error(const std::string& text) {
  return usage_error([&] { Bound().options.read_ini(text, "run.ini"); });
}

void expect_words(const std::string& text, const Words& words) {
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
}

TEST(Options, ReadsEveryTypeFromFlags) {
  Bound bound;
  EXPECT_EQ(
      bound.options.parse({"--data.shuffle=off", "--train.stages", "4", "--train.steps=10k",
                           "--train.seed=1_000", "--train.rate=-2.5e-3", "--data.note=a b#c",
                           "--data.stores", "x, y,z", "--train.layers=3,2,1k", "--model.norm=rms"}),
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
  const Folder folder;
  const std::string base =
      folder.file("base.ini", "[train]\nsteps = 1\nstages = 2\nseed = 3\nrate = 4\n");
  const std::string run = folder.file("run.ini", "train.stages = 5\n");
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

TEST(OptionsErrors, UnknownKeysNameTheNearestAndWhereTheyStand) {
  expect_words(parse_error({"--train.stpes=3"}),
               {"train.stpes", "flag --train.stpes", "did you mean 'train.steps'"});
  expect_words(parse_error({"--steps=3"}), {"'steps'", "did you mean 'train.steps'"});
  expect_words(parse_error({"--train.stpes", "3"}), {"did you mean 'train.steps'"});
  expect_words(ini_error("[train]\n\nstpes = 3\n"),
               {"train.stpes", "run.ini:3", "did you mean 'train.steps'"});
  const Variable wrong("SKEIN_TRAIN_STPES", "1");
  expect_words(parse_error({}),
               {"SKEIN_TRAIN_STPES", "environment", "did you mean 'SKEIN_TRAIN_STEPS'"});
}

TEST(OptionsErrors, HelpAndVersionAreNamedAsTheyAreWritten) {
  expect_words(parse_error({"help"}), {"'help' is no option; did you mean '--help'?"});
  expect_words(parse_error({"--hlep"}), {"did you mean '--help'?"});
  expect_words(parse_error({"--print-confg"}), {"did you mean '--print-config'?"});
  expect_words(parse_error({"--version"}), {"has no option --version; `prog --version` writes"});
}

TEST(OptionsErrors, VariablesOfTheLaunchAreKnown) {
  {
    const Variable rendezvous("SKEIN_RENDEZVOUS", "node7:4711"), rank("SKEIN_RANK", "1"),
        ranks("SKEIN_RANKS", "2"), timeout("SKEIN_RENDEZVOUS_TIMEOUT", "9"),
        secret("SKEIN_RENDEZVOUS_SECRET", "0123456789abcdef"),
        key("SKEIN_RENDEZVOUS_SECRET_FILE", "/key"), open("SKEIN_RENDEZVOUS_OPEN", "1");
    EXPECT_NO_THROW(Bound().options.parse({}));
  }
  const Variable wrong("SKEIN_RENDEVOUS", "node7:4711");
  expect_words(parse_error({}), {"SKEIN_RENDEVOUS", "did you mean 'SKEIN_RENDEZVOUS'"});
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

TEST(OptionsErrors, MisspeltVariablesAreRefused) {
  for (const auto& [wrong, meant] :
       std::vector<std::pair<std::string, std::string>>{{"SKEIN_TRAIN_STPES", "SKEIN_TRAIN_STEPS"},
                                                        {"SKEIN_TARIN_STEPS", "SKEIN_TRAIN_STEPS"},
                                                        {"SKEIN_DATA_STORE", "SKEIN_DATA_STORES"},
                                                        {"SKEIN_RANNKS", "SKEIN_RANKS"}}) {
    const Variable variable(wrong, "1");
    expect_words(parse_error({}), {wrong, "did you mean '" + meant + "'", "unset it"});
  }
}

TEST(OptionsErrors, WrongTypesNameKeyTextAndWhereTheyStand) {
  for (const char* text : {"ten", "1.5", "", "10kk", "_1", "1_", "k", "9223372036854775807k", " 1"})
    expect_words(parse_error({"--train.steps=" + std::string(text)}),
                 {fmt::format("train.steps = '{}'", text), "flag --train.steps", "whole number"});
  expect_words(parse_error({"--train.stages=3G"}), {"train.stages", "2147483647"});
  expect_words(parse_error({"--train.seed=-1"}), {"train.seed = '-1'", "from 0"});
  for (const char* text : {"fast", "nan", "inf", "1e999", "1x", ""})
    expect_words(parse_error({"--train.rate=" + std::string(text)}), {"train.rate", "a number"});
  expect_words(ini_error("[data]\nshuffle = maybe"),
               {"data.shuffle = 'maybe'", "run.ini:2", "true or false"});
  expect_words(parse_error({"--train.layers=1,x"}),
               {"train.layers = '1,x'", "list of whole numbers"});
  expect_words(parse_error({"--data.stores=a,,b"}), {"data.stores = 'a,,b'", "empty"});
  const Variable wrong("SKEIN_TRAIN_STEPS", "many");
  expect_words(parse_error({}), {"train.steps = 'many'", "environment SKEIN_TRAIN_STEPS"});
}

TEST(OptionsErrors, UnknownChoicesListTheKnownOnes) {
  expect_words(parse_error({"--model.norm=layr"}),
               {"model.norm = 'layr'", "one of layer, rms", "did you mean 'layer'"});
}

TEST(OptionsErrors, AKeyTwiceInOneFileNamesBothLines) {
  expect_words(ini_error("[train]\nsteps = 1\nsteps = 1\n"),
               {"run.ini:3", "train.steps", "line 2"});
}

TEST(OptionsErrors, LinesThatAreNoIniNameFileAndLine) {
  expect_words(ini_error("[train]\nsteps\n"), {"run.ini:2", "'steps'", "key = value"});
  expect_words(ini_error("[train\n"), {"run.ini:1", "closing ]"});
  expect_words(ini_error("[train] steps\n"), {"run.ini:1", "no [section]"});
  expect_words(ini_error("[]\n"), {"run.ini:1"});
  expect_words(ini_error("= 3\n"), {"run.ini:1", "no key"});
  expect_words(ini_error("data.note = \"open\n"), {"run.ini:1", "closing quote"});
  expect_words(ini_error("data.note = \"a\\x\"\n"), {"run.ini:1", "\\\\"});
  expect_words(ini_error("data.note = \"a\" b\n"), {"run.ini:1", "'b'"});
}

TEST(OptionsErrors, ShowLittleOfWhatIsNoIni) {
  for (const char* head : {"", "[", "\"x\" ", "key = \"open "}) {
    const std::string said =
        ini_error(head + std::string("\x1B[2J\0\xFF", 6) + std::string(5000, 'x') + "\n");
    EXPECT_NE(said.find("\\x1B[2J\\x00\\xFF"), std::string::npos) << said;
    EXPECT_LT(said.size(), 400u) << said;
  }
  const std::string value = parse_error({"--train.steps=\x1B[2J" + std::string(5000, 'x')});
  EXPECT_NE(value.find("train.steps = '\\x1B[2Jxxx"), std::string::npos) << value;
  EXPECT_LT(value.size(), 500u) << value;
}

TEST(OptionsErrors, FlagsWithoutTheirValue) {
  expect_words(parse_error({"--train.steps"}), {"train.steps", "--help"});
  expect_words(parse_error({"--train.steps", "--train.seed=3"}), {"--train.steps"});
  expect_words(parse_error({"--data.note", "--nothing.known=3"}),
               {"--data.note", "--nothing.known=3"});
  expect_words(parse_error({"--config"}), {"config"});
  expect_words(parse_error({"--=3"}), {"--=3"});
}

TEST(OptionsErrors, FilesThatCannotBeRead) {
  const Folder folder;
  expect_words(parse_error({"--config", folder.path() + "/none.ini"}),
               {folder.path() + "/none.ini", "No such file"});
  expect_words(parse_error({"--config", folder.path()}), {folder.path(), "directory"});
  EXPECT_EQ(parse_error({"--config", folder.file("empty.ini", "")}), "");
}

TEST(OptionsErrors, WordsAreRefusedUnlessAllowed) {
  expect_words(parse_error({"train.steps=5"}),
               {"'train.steps=5' is no option", "did you mean 'train.steps'"});
  EXPECT_EQ(parse_error({"train.steps=5"}, true), "");
}

TEST(Options, AKeyIsBoundOnce) {
  Bound bound;
  EXPECT_THROW(bound.options.add("train.steps", bound.config.steps, "again"), Error);
  EXPECT_THROW(bound.options.add("train_steps", bound.config.steps, "no section"), Error);
}

}  // namespace
}  // namespace skein
