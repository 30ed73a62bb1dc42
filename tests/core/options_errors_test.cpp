// What is refused of options, and the words that say so.
#include <gtest/gtest.h>
#include <unistd.h>

#include "skein/core/options/options.h"

#include "core/options_fixture.h"

namespace skein {
namespace {

using test::Bound;
using test::expect_words;
using test::ini_error;
using test::parse_error;
using test::Scratch;
using test::Variable;

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
  const Scratch folder;
  expect_words(parse_error({"--config", folder.path() + "/none.ini"}),
               {folder.path() + "/none.ini", "No such file"});
  expect_words(parse_error({"--config", folder.path()}), {folder.path(), "directory"});
  EXPECT_EQ(parse_error({"--config", folder.write("empty.ini", "")}), "");
}

TEST(OptionsErrors, WordsAreRefusedUnlessAllowed) {
  expect_words(parse_error({"train.steps=5"}),
               {"'train.steps=5' is no option", "did you mean 'train.steps'"});
  EXPECT_EQ(parse_error({"train.steps=5"}, true), "");
}

// As options of texts are for a model that reads pictures.
TEST(OptionsErrors, ChangedOptionsOfOthersAreRefused) {
  struct Other {
    int64_t steps = 100;
  } other;
  const auto bind_own = [&](Options& own) { own.add("train.steps", other.steps, ""); };
  const auto error = [&](const std::string& arg) {
    Bound bound;
    bound.options.parse({arg});
    return refusal_of([&] { refuse_changed(bound.options, bind_own, "is for texts"); });
  };
  EXPECT_EQ(error("--train.steps=100"), "");
  EXPECT_EQ(error("--train.steps=99"), "train.steps is for texts");
}

}  // namespace
}  // namespace skein
