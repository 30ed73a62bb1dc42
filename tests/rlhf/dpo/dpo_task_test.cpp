// Policies learn from pairs of answers, beginning at their reference to the bit, to the same bits
// at every layout.
#include "rlhf/dpo_fixture.h"
#include "support/expect_error.h"

namespace skein::rlhf::dpo {
namespace {

using Json = nlohmann::json;

// Lists of three.
std::string write_lists(const std::string& path, int count) {
  std::ofstream file(path);
  for (int i = 0; i < count; ++i)
    file << Json{{"prompt", "ask"},
                 {"answers", {"gg", "ga", "hb" + std::string(static_cast<size_t>(i % 3), 'c')}},
                 {"ranks", {1, 2, 3}}}
                .dump()
         << '\n';
  return path;
}

class DpoTasks : public testing::Test {
 protected:
  DpoTasks() { c_.run.data.train = {write_preferred(folder_.file("train.jsonl"), 96, 1)}; }

  test::Scratch folder_;
  std::string start_ = write_policy(folder_);
  DpoTuneConfig c_ = small_dpo(start_);
};

TEST_F(DpoTasks, BeginAtTheReferenceToTheBit) {
  for (const DType precision : {DType::f32, DType::bf16}) {
    c_.run.train.precision = precision;
    c_.run.data.train = {write_preferred(folder_.file("train.jsonl"), 40, 1),
                         write_lists(folder_.file("lists.jsonl"), 8)};
    c_.run.train.steps = 2;
    const TunedByPairs tuned =
        tune_by_pairs(c_, folder_, 1, fmt::format("begin{}", name_of(precision)));
    const Json& first = tuned.metrics.at(0);
    for (const char* name :
         {"reward_margin", "chosen_reward", "rejected_reward", "reward_accuracy"})
      EXPECT_EQ(first[name].get<double>(), 0) << name;
    EXPECT_EQ(first["dpo_loss"].get<double>(), static_cast<float>(std::log(2.0)));
    EXPECT_EQ(first["loss"].get<double>(), first["dpo_loss"].get<double>());
    EXPECT_LT(first["chosen_logp"].get<double>(), -3);
    EXPECT_GT(first["grad_norm"].get<double>(), 0.01);
    EXPECT_NE(tuned.metrics.at(1)["reward_margin"].get<double>(), 0);
  }
}

TEST_F(DpoTasks, LearnWhichAnswersAreBetter) {
  c_.run.data.validation = {write_preferred(folder_.file("valid.jsonl"), 40, 2)};
  c_.task.epochs = 6;
  c_.run.lr.lr = 3e-3;
  for (const double sft : {0.0, 1.0}) {
    c_.task.rules.sft = sft;
    const TunedByPairs tuned = tune_by_pairs(c_, folder_, 1, fmt::format("learnt{}", sft));
    const std::map<std::string, double> found(tuned.validation.values.begin(),
                                              tuned.validation.values.end());
    EXPECT_EQ(found.at("reward_accuracy"), 1);
    EXPECT_LT(found.at("loss"), 0.5);
    EXPECT_NEAR(found.at("reward_margin"), found.at("chosen_reward") - found.at("rejected_reward"),
                1e-5);
    const Json& last = tuned.metrics.at(tuned.losses.size() - 1);
    EXPECT_EQ(last.contains("sft_loss"), sft > 0);
    EXPECT_NE(tuned.validation.text.find("accuracy 1.0000 of 40 pairs"), std::string::npos)
        << tuned.validation.text;
    if (sft == 0) continue;
    EXPECT_NEAR(last["loss"].get<double>(),
                last["dpo_loss"].get<double>() + last["sft_loss"].get<double>(), 1e-6);
    EXPECT_GT(last["chosen_logp"].get<double>(),
              tuned.metrics.at(0)["chosen_logp"].get<double>() + 3);
  }
}

TEST_F(DpoTasks, GiveEqualBitsAtEveryLayout) {
  for (const DType precision : {DType::f32, DType::bf16}) {
    DpoTuneConfig c = c_;
    c.run.data.train.push_back(write_lists(folder_.file("lists.jsonl"), 8));
    c.run.data.validation = {write_preferred(folder_.file("valid.jsonl"), 18, 2)};
    c.run.train.steps = 6;
    c.run.train.precision = precision;
    c.run.parallel.reduction_groups = 4;
    c.task.rules.sft = 0.1;
    c.task.rules.loss.label_smoothing = 0.1;
    const std::string name = std::string(name_of(precision));
    const TunedByPairs expected = tune_by_pairs(c, folder_, 1, name);
    expect_equal_at_every_layout(c, folder_, name, expected);
  }
}

TEST_F(DpoTasks, TensorParallelRanksAgree) {
  c_.run.train.steps = 5;
  const TunedByPairs expected = tune_by_pairs(c_, folder_, 1, "one");
  c_.run.parallel.tensor = 2;
  for (const bool sequence : {false, true}) {
    c_.run.parallel.sequence = sequence;
    const TunedByPairs found = tune_by_pairs(c_, folder_, 2, fmt::format("two{}", sequence));
    ASSERT_EQ(found.losses.size(), 5u);
    EXPECT_EQ(found.metrics.at(0)["reward_margin"].get<double>(), 0);
    for (size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-4) << sequence;
  }
}

TEST_F(DpoTasks, GoOnWithEqualBits) {
  c_.run.data.validation = {write_preferred(folder_.file("valid.jsonl"), 20, 2)};
  c_.run.train.steps = 8;
  c_.run.lr.decay = train::LrConfig::Decay::constant;
  c_.run.lr.warmup = 0;
  const TunedByPairs expected = tune_by_pairs(c_, folder_, 1, "expected");
  c_.run.train.steps = 4;
  tune_by_pairs(c_, folder_, 1, "run");
  c_.run.train.steps = 8;
  c_.run.parallel.pipeline = 2;
  const TunedByPairs found = tune_by_pairs(c_, folder_, 2, "run");
  EXPECT_EQ(found.losses, std::vector<double>(expected.losses.begin() + 4, expected.losses.end()));
  EXPECT_EQ(train::first_difference(found.state, expected.state), "");
  EXPECT_EQ(found.validation.values, expected.validation.values);
  c_.run.train.steps = 9;
  c_.run.parallel.pipeline = 1;
  const auto refused = [&](const DpoTuneConfig& c, std::initializer_list<std::string> words) {
    test::expect_error(ExitCode::usage, words, [&] { tune_by_pairs(c, folder_, 1, "run"); });
  };
  DpoTuneConfig other = c_;
  other.task.length = 20;
  refused(other, {"dpo.length=24, now it is 20"});
  other = c_;
  other.task.chat_template = "plain";
  refused(other, {"another chat template"});
  other = c_;
  other.run.checkpoint.load = write_policy(folder_, "further", 60);
  refused(other, {"was trained against a reference", "checkpoint.load"});
  const std::string policy = c_.run.checkpoint.load;
  std::filesystem::copy(policy, folder_.file("copy"), std::filesystem::copy_options::recursive);
  c_.run.checkpoint.load = folder_.file("copy");
  tune_by_pairs(c_, folder_, 1, "run");
  c_.run.train.steps = 10;
  c_.run.checkpoint.load = policy;
  std::filesystem::remove_all(policy);
  std::filesystem::rename(write_policy(folder_, "further", 61), policy);
  refused(c_, {"was trained against a reference", "checkpoint.load"});
}

TEST_F(DpoTasks, RefuseWhatCannotBe) {
  const auto refused = [&](const DpoTuneConfig& c, std::initializer_list<std::string> words) {
    test::expect_error(ExitCode::usage, words, [&] { tune_by_pairs(c, folder_, 1, "refused"); });
  };
  const auto with = [&](const std::string& lines) {
    std::ofstream(folder_.file("bad.jsonl")) << lines;
    DpoTuneConfig c = c_;
    c.run.data.train = {folder_.file("bad.jsonl")};
    return c;
  };
  refused(with("{\"prompt\":\"a\",\"chosen\":\"b\",\"rejected\":\"c\"}\n{\"prompt\":\"a\","
               "\"chosen\":\"b\"}\n"),
          {"bad.jsonl:2", "rejected"});
  refused(with("{\"prompt\":\"a\",\"chosen\":\"b\",\"rejected\":\"b\"}\n"), {"bad.jsonl:1"});
  refused(with("{\"prompt\":\"a\",\"answer\":\"b\",\"score\":1}\n"),
          {"no pair of answers is left of 1 training records", "no two answers"});
  refused(with(Json{{"prompt", "p"}, {"chosen", std::string(60, 'a')}, {"rejected", "b"}}.dump() +
               "\n"),
          {"no pair of answers", "1 are too long", "dpo.length"});
  refused(
      with(
          R"({"prompt":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"chosen":"b","rejected":"c"})"
          "\n"),
      {"bad.jsonl:1", "system"});
  const auto changed = [&](const std::function<void(DpoTuneConfig&)>& change) {
    DpoTuneConfig c = c_;
    change(c);
    return c;
  };
  refused(changed([](DpoTuneConfig& c) { c.run.data.train.clear(); }), {"data.train"});
  refused(changed([](DpoTuneConfig& c) { c.task.rules.loss.beta = 0; }), {"dpo.beta=0"});
  refused(changed([](DpoTuneConfig& c) { c.task.rules.loss.label_smoothing = 0.5; }),
          {"dpo.label_smoothing=0.5"});
  refused(changed([](DpoTuneConfig& c) { c.task.rules.sft = -1; }), {"dpo.sft=-1"});
  refused(changed([](DpoTuneConfig& c) { c.task.epochs = 0; }), {"dpo.epochs=0"});
  refused(changed([](DpoTuneConfig& c) { c.task.length = 25; }), {"dpo.length=25", "24"});
  refused(changed([](DpoTuneConfig& c) { c.run.model.dropout = 0.1; }), {"model.dropout=0.1"});
  refused(changed([](DpoTuneConfig& c) { c.run.model.head = Head::sequence; }),
          {"does not continue text"});
  refused(changed([](DpoTuneConfig& c) { c.run.parallel.cuda_graph = true; }), {"cuda_graph"});
}

}  // namespace
}  // namespace skein::rlhf::dpo
