#include "skein/rlhf/rewards/rewards.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>

#include "rlhf/reward_fixture.h"
#include "text/golden_files.h"

namespace skein::rlhf::rewards {
namespace {

using test::answer;
using test::expect_error;
using test::expect_refused_reward;
using test::score_of;
using test::scores_of;

TEST(RewardSpecs, AreWeightsKindsAndArguments) {
  const auto specs = parse_rewards(" ended ;0.5*regex: a{1,2}:b* ; -2e-1 * length:target=40;");
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].text(), "ended");
  EXPECT_EQ(specs[0].weight, 1);
  EXPECT_EQ(specs[1].kind, "regex");
  EXPECT_EQ(specs[1].argument, "a{1,2}:b*");
  EXPECT_EQ(specs[1].weight, 0.5);
  EXPECT_EQ(specs[2].weight, -0.2);
  EXPECT_EQ(specs[2].text(), "length:target=40");
}

TEST(RewardSpecs, KeepWhatBackslashesProtect) {
  const auto specs = parse_rewards("process:a\\; b; regex:\\d\\\\; regex:x\\");
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].argument, "a; b");
  EXPECT_EQ(specs[1].argument, "\\d\\\\");
  EXPECT_EQ(specs[2].argument, "x\\");
}

TEST(RewardSpecs, ThatAreNoneAreRefused) {
  expect_refused_reward(" ", {"no reward is given", "regex:"});
  expect_refused_reward("ended;;ended", {"empty one", "ended;;ended"});
  expect_refused_reward("x*ended", {"weight before '*'", "x*ended"});
  expect_refused_reward("inf*ended", {"no finite number"});
  expect_refused_reward("0.5 ended", {"does not begin with a kind", "0.5 ended"});
  expect_refused_reward(":abc", {"does not begin with a kind"});
  expect_refused_reward("regx:abc", {"no reward regx", "did you mean regex?", "words"});
  expect_refused_reward("length:target=4,target=5", {"target= twice"});
  expect_refused_reward("length:goal=4", {"\"goal=4\"", "target=..., max=..., unit=..."});
}

TEST(Rules, RegexIsOneWhereItMatches) {
  const std::vector<Answer> answers = {answer("The answer is 42."), answer("42"), answer("none")};
  EXPECT_EQ(scores_of("regex:\\d+", answers), (std::vector<double>{1, 1, 0}));
  EXPECT_EQ(scores_of("regex_full:\\d+", answers), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(score_of("regex:^caf\u00e9$", answer("caf\u00e9")), 1);
  EXPECT_EQ(score_of("regex:a.b", answer("a\xff"
                                         "b")),
            1);
  expect_refused_reward("regex:a(", {"regular expression a(", "byte 2"});
  expect_refused_reward("regex", {"regex needs a regular expression"});
}

TEST(Rules, RegexThatExplodesCountsAsNoMatch) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(score_of("regex:^(a+)+$", answer(std::string(100, 'a').append("b"))), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Rules, LengthIsDistanceFromATargetOrRises) {
  EXPECT_DOUBLE_EQ(score_of("length:target=40", answer("", "", 31)), -0.25);
  EXPECT_DOUBLE_EQ(score_of("length:target=40", answer("", "", 41)), 0);
  EXPECT_DOUBLE_EQ(score_of("length:target=40", answer("", "", 50, false)), -0.25);
  EXPECT_DOUBLE_EQ(score_of("length:max=8", answer("", "", 3)), 0.25);
  EXPECT_DOUBLE_EQ(score_of("length:max=8", answer("", "", 100)), 1);
  EXPECT_DOUBLE_EQ(score_of("length:max=10,unit=characters", answer("caf\u00e9\xff")), 0.5);
  EXPECT_DOUBLE_EQ(score_of("length:max=10", answer("", "", 0)), 0);
  expect_refused_reward("length:unit=tokens", {"needs one of target=N and max=N"});
  expect_refused_reward("length:target=1,max=2", {"needs one of"});
  expect_refused_reward("length:target=0", {"whole length from 1 up, not 0"});
  expect_refused_reward("length:max=2.5", {"not 2.5"});
  expect_refused_reward("length:max=many", {"\"many\"", "no finite number"});
  expect_refused_reward("length:max=3,unit=words", {"unit=words", "tokens and characters"});
}

TEST(Rules, EndedTellsWhetherItEnded) {
  EXPECT_EQ(scores_of("ended", {answer("a"), answer("a", "", 1, false)}),
            (std::vector<double>{1, 0}));
  expect_refused_reward("ended:x", {"takes no argument", "\"x\""});
}

TEST(Rules, ExactComparesNormalisedTexts) {
  const std::string record = R"({"answer":"New  York"})";
  EXPECT_EQ(score_of("exact", answer(" new york.\n", record)), 1);
  EXPECT_EQ(score_of("exact", answer("York", record)), 0);
  EXPECT_EQ(score_of("exact:field=completion", answer("7", R"({"completion":7})")), 1);
  EXPECT_EQ(score_of("exact:field=names", answer("B", R"({"names":["a","b"]})")), 1);
  EXPECT_EQ(score_of("exact:field=names", answer("c", R"({"names":["a","b"]})")), 0);
}

TEST(Rules, ExactComparesLastNumbers) {
  const auto right = [](const std::string& text, const std::string& truth) {
    return score_of("exact:match=number", answer(text, nlohmann::json{{"answer", truth}}.dump())) ==
           1;
  };
  EXPECT_TRUE(right("She has 3 + 15 = $18.", "9 and 9 <<9+9=18>>\n#### 18"));
  EXPECT_FALSE(right("18, no, 19", "#### 18"));
  EXPECT_FALSE(right("none", "#### 18"));
  EXPECT_TRUE(right("1,234.50 dollars", "#### 1234.5"));
  EXPECT_TRUE(right("2520000", "#### 2,520,000"));
  EXPECT_TRUE(right("it is -5", "-5.0"));
  EXPECT_TRUE(right("\u22125", "-5"));
  EXPECT_TRUE(right("10-5", "5"));
  EXPECT_FALSE(right("-5", "5"));
  EXPECT_TRUE(right("007", "7"));
  EXPECT_TRUE(right(".5", "0.50"));
  EXPECT_TRUE(right("-0", "0"));
  EXPECT_TRUE(right("1,2,3", "3"));
  EXPECT_FALSE(right("123", "1,2,3"));
}

TEST(Rules, ExactRefusesRecordsItCannotCompareWith) {
  expect_refused_reward("exact", {"prompt 12 has no record", "field answer", "JSONL"});
  expect_refused_reward("exact", {"prompt 12", "no field answer", "question, reply"},
                        answer("x", R"({"question":1,"reply":2})"));
  expect_refused_reward("exact", {"field answer", "prompt 12", "null"},
                        answer("x", R"({"answer":null})"));
  expect_refused_reward("exact", {"empty list"}, answer("x", R"({"answer":[]})"));
  expect_refused_reward("exact:match=number", {"prompt 12", "has no number", "\"none\""},
                        answer("x", R"({"answer":"none"})"));
  expect_refused_reward("exact:match=near", {"match=near", "text and number"});
  expect_refused_reward("exact:field=", {"names no field"});
  const auto world = single_rank();
  const RewardMixture rewards = make_rewards("ended; exact", {*world});
  EXPECT_NO_THROW(rewards.check_prompt({{}, {}, R"({"answer":"a"})", 3}));
  expect_error(ExitCode::usage, {"prompt 3", "no field answer"}, [&] {
    rewards.check_prompt({{}, {}, "{}", 3});
  });
}

TEST(Rules, WordsAddUpTheirWeights) {
  const test::Scratch folder;
  const std::string path = folder.write("a,b.txt", "good\n\nVery 0.5\nbad\t-2\nwell-known 3\n");
  EXPECT_DOUBLE_EQ(score_of("words:" + path, answer("GOOD, very good!")), 2.5);
  EXPECT_DOUBLE_EQ(score_of("words:" + path, answer("A well-known bad-good")), 3);
  EXPECT_DOUBLE_EQ(score_of("words:" + path + ",cap=2", answer("bad bad")), -2);
  EXPECT_DOUBLE_EQ(score_of("words:" + path + ",per=token", answer("bad bad", "", 9)), -0.5);
  EXPECT_DOUBLE_EQ(score_of("words:" + path + ",per=token,cap=0.25", answer("bad bad", "", 9)),
                   -0.25);
  EXPECT_DOUBLE_EQ(score_of("words:" + path + ",per=token", answer("", "", 0)), 0);
}

TEST(Rules, WordsRefuseWhatIsNoList) {
  const test::Scratch folder;
  const auto refused = [&](const std::string& text, std::initializer_list<std::string> words) {
    expect_refused_reward("words:" + folder.write("list", text), words);
  };
  refused("good\nNew York 2\n", {"list:2", "New York 2", "not a word"});
  refused("good 1 2\n", {"list:1"});
  refused("good x\n", {"line 1", "weight \"x\""});
  refused("!\n", {"list:1", "\"!\""});
  refused("good\nGood 2\n", {"list:2", "second time", "Good"});
  refused("\n \n", {"no word is listed"});
  refused("a\xff\n", {"not valid UTF-8"});
  const std::string path = folder.write("list", "good\n");
  expect_refused_reward("words:" + path + ",cap=0", {"cap=0"});
  expect_refused_reward("words:" + path + ",per=word", {"per=word", "per=token"});
  expect_refused_reward("words:", {"names no file"});
  expect_error(ExitCode::usage, {"/none/there"},
               [] { score_of("words:/none/there", answer("x")); });
}

// Gives what it is told to.
class Told : public RewardSource {
 public:
  explicit Told(std::vector<double> scores) : scores_(std::move(scores)) {}
  std::string name() const override { return "told"; }
  std::vector<double> scores(std::span<const Answer>) override { return scores_; }

 private:
  std::vector<double> scores_;
};

RewardMixture told(const std::string& list, const std::vector<double>& scores) {
  const auto world = single_rank();
  return make_rewards(list, {*world, 60, {{"told", {[&](const RewardSpec&) {
                                             return std::make_unique<Told>(scores);
                                           }}}}});
}

TEST(Rewards, ThatStartSomethingStartNothingWhenTheyAreForeseen) {
  const auto world = single_rank();
  const auto never = [](const RewardSpec&) -> std::unique_ptr<RewardSource> {
    ADD_FAILURE() << "it was made";
    return nullptr;
  };
  const auto stand_in = [](const RewardSpec&) {
    return std::make_unique<Told>(std::vector<double>{1});
  };
  RewardContext context{*world, 60, {{"told", {never, stand_in}}}, true};
  EXPECT_EQ(make_rewards("told; ended", context).parts().size(), 2u);
  const test::Scratch folder;
  const std::string started = folder.path() + "/started";
  RewardMixture process = make_rewards("process:touch " + started, context);
  expect_error(ExitCode::failure, {"the reward", "was only looked at"},
               [&] { process.scores(std::vector<Answer>{answer("a", "", 6)}); });
  EXPECT_FALSE(std::filesystem::exists(started));
  expect_error(ExitCode::usage, {"needs a command"}, [&] { make_rewards("process:", context); });
}

TEST(Mixtures, AddUpWeightedPartsAndRememberThem) {
  RewardMixture rewards =
      told("2*told; -0.5*length:max=10; 0*regex_full:a; regex:b; regex:c", {1, 3});
  const std::vector<double> sums =
      rewards.scores(std::vector<Answer>{answer("a", "", 6), answer("bc", "", 11)});
  EXPECT_EQ(sums, (std::vector<double>{2 - 0.25, 6 - 0.5 + 2}));
  std::vector<std::string> labels;
  for (const auto& part : rewards.parts()) labels.push_back(part.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"told", "length", "regex_full", "regex", "regex_2"}));
  ASSERT_EQ(rewards.last().size(), 5u);
  EXPECT_EQ(rewards.last()[0], (std::vector<double>{1, 3}));
  EXPECT_EQ(rewards.last()[1], (std::vector<double>{0.5, 1}));
  EXPECT_EQ(rewards.last()[2], (std::vector<double>{1, 0}));
  EXPECT_NE(rewards.name().find("-0.5*\"length:max=10\""), std::string::npos) << rewards.name();
}

TEST(Mixtures, RefuseScoresThatAreNoNumbers) {
  const std::vector<Answer> two = {answer("first"), answer("second")};
  expect_error(ExitCode::failure, {"reward told", "nan", "prompt 12", "\"second\""}, [&] {
    told("told", {1, NAN}).scores(two);
  });
  expect_error(ExitCode::failure, {"inf", "\"first\""}, [&] {
    told("10*told", {1e308, 1}).scores(two);
  });
  expect_error(ExitCode::internal, {"1 against 2"}, [&] { told("told", {1}).scores(two); });
}

TEST(Mixtures, GiveTheSameOnAllRanks) {
  const test::Scratch folder;
  const std::string path = folder.write("list", "good 2\n");
  run_ranks(3, [&](Group& world) {
    RewardMixture rewards = make_rewards("words:" + path + "; ended", {world});
    EXPECT_EQ(rewards.scores(std::vector<Answer>{answer("good")}), (std::vector<double>{3}));
  });
  expect_error(ExitCode::usage, {"/none/there"}, [] {
    run_ranks(3, [](Group& world) { make_rewards("words:/none/there", {world}); });
  });
}

}  // namespace
}  // namespace skein::rlhf::rewards
