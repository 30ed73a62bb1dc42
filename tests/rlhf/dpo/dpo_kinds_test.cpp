// IPO, SimPO and KTO as runs: what they begin at, that they learn, and equal bits at every layout.
#include "rlhf/dpo_fixture.h"
#include "support/expect_error.h"

namespace skein::rlhf::dpo {
namespace {

using Json = nlohmann::json;
using Words = std::initializer_list<std::string>;

// The same as single answers, two thirds of them good.
std::string write_labels(const std::string& path, int count, uint64_t seed) {
  Chance chance(seed);
  std::ofstream file(path);
  for (int i = 0; i < count; ++i) {
    const std::string prompt = std::string(static_cast<size_t>(i % 4), 'p') + "ask";
    const bool good = i % 3 != 0;
    file << Json{{"prompt", prompt},
                 {"completion", drawn_answer(chance, good ? 'g' : 'h')},
                 {"label", good}}
                .dump()
         << '\n';
  }
  return path;
}

class DpoKinds : public testing::Test {
 protected:
  DpoTuneConfig of(DpoKind kind) {
    DpoTuneConfig c = small_dpo(start_);
    c.task.rules.loss.kind = kind;
    if (kind == DpoKind::simpo) c.task.rules.loss.beta = kSimpoBeta;
    if (kind == DpoKind::kto) c.task.rules.loss.undesirable_weight = 2;
    c.run.data.train = {kind == DpoKind::kto ? write_labels(folder_.file("labels.jsonl"), 150, 1)
                                             : write_preferred(folder_.file("train.jsonl"), 96, 1)};
    c.run.data.validation = {write_preferred(folder_.file("valid.jsonl"), 18, 2)};
    return c;
  }

  test::Scratch folder_;
  std::string start_ = write_policy(folder_);
};

constexpr DpoKind kKinds[] = {DpoKind::ipo, DpoKind::simpo, DpoKind::kto};

TEST_F(DpoKinds, BeginAtTheirReferenceToTheBit) {
  for (const DpoKind kind : {DpoKind::ipo, DpoKind::kto})
    for (const DType precision : {DType::f32, DType::bf16}) {
      DpoTuneConfig c = of(kind);
      c.run.train.precision = precision;
      c.run.train.steps = 2;
      const std::string name = fmt::format("{}{}", name_of(kind), name_of(precision));
      const TunedByPairs tuned = tune_by_pairs(c, folder_, 1, name);
      const Json &first = tuned.metrics.at(0), &second = tuned.metrics.at(1);
      for (const char* told :
           {"reward_margin", "chosen_reward", "rejected_reward", "reward_accuracy"})
        EXPECT_EQ(first[told].get<double>(), 0) << name << " " << told;
      EXPECT_NE(second["reward_margin"].get<double>(), 0) << name;
      EXPECT_FALSE(first.contains("dpo_loss"));
      if (kind == DpoKind::ipo) {
        EXPECT_EQ(first["ipo_loss"].get<double>(), 25) << "(1 / (2 beta))^2";
        continue;
      }
      EXPECT_EQ(first["reference_point"].get<double>(), 0) << "of a policy that is its reference";
      EXPECT_TRUE(first["kto_loss"] >= 0.5 && first["kto_loss"] <= 1)
          << "half the weights, 1 and 2";
    }
}

TEST_F(DpoKinds, SimpoBeginsAtWhatThePolicySays) {
  DpoTuneConfig c = of(DpoKind::simpo);
  c.run.train.steps = 1;
  const TunedByPairs tuned = tune_by_pairs(c, folder_, 1, "simpo");
  const Json& first = tuned.metrics.at(0);
  EXPECT_LT(first["chosen_reward"].get<double>(), -1) << "beta times the mean of a token";
  EXPECT_GT(first["chosen_reward"].get<double>(), 2 * first["chosen_logp"].get<double>());
  EXPECT_NEAR(first["reward_margin"].get<double>(),
              first["chosen_reward"].get<double>() - first["rejected_reward"].get<double>(), 1e-5);
  EXPECT_GT(first["simpo_loss"].get<double>(), std::log1p(std::exp(-1.0)));
}

TEST_F(DpoKinds, LearnWhichAnswersAreBetter) {
  // At the beginning 25, above 1.2 and half the weights, 0.75.
  for (const auto& [kind, below] :
       {std::pair(DpoKind::ipo, 17.0), {DpoKind::simpo, 0.9}, {DpoKind::kto, 0.7}}) {
    DpoTuneConfig c = of(kind);
    c.task.epochs = 6;
    c.run.lr.lr = 3e-3;
    const TunedByPairs tuned = tune_by_pairs(c, folder_, 1, name_of(kind));
    const std::map<std::string, double> found(tuned.validation.values.begin(),
                                              tuned.validation.values.end());
    EXPECT_GE(found.at("reward_accuracy"), 0.9) << tuned.validation.text;
    EXPECT_GT(found.at("chosen_reward"), found.at("rejected_reward"));
    EXPECT_NEAR(found.at("reward_margin"), found.at("chosen_reward") - found.at("rejected_reward"),
                1e-4);
    EXPECT_LT(found.at("loss"), below) << name_of(kind);
    const char* const told = kind == DpoKind::kto ? " of 36 answers" : " of 18 pairs";
    EXPECT_NE(tuned.validation.text.find(told), std::string::npos) << tuned.validation.text;
    EXPECT_EQ(found.contains("reference_point"), kind == DpoKind::kto);
  }
}

TEST_F(DpoKinds, GiveEqualBitsAtEveryLayout) {
  for (const DpoKind kind : kKinds) {
    DpoTuneConfig c = of(kind);
    c.run.train.steps = 5;
    c.run.train.precision = kind == DpoKind::kto ? DType::bf16 : DType::f32;
    c.run.parallel.reduction_groups = 4;
    c.task.rules.loss.token_mean = kind == DpoKind::ipo;
    c.task.rules.sft = kind == DpoKind::kto ? 0 : 0.1;
    if (kind == DpoKind::kto) c.task.rules.loss.undesirable_weight = 0.1;  // or no answer gains
    const std::string name = name_of(kind);
    const TunedByPairs expected = tune_by_pairs(c, folder_, 1, name);
    if (kind == DpoKind::kto) {
      EXPECT_GT(expected.metrics.at(4)["reference_point"].get<double>(), 0)
          << "it has a part in this";
    }
    expect_equal_at_every_layout(c, folder_, name, expected);
  }
}

TEST_F(DpoKinds, GoOnWithEqualBits) {
  for (const DpoKind kind : {DpoKind::simpo, DpoKind::kto}) {
    DpoTuneConfig c = of(kind);
    c.run.lr.decay = train::LrConfig::Decay::constant;
    c.run.lr.warmup = 0;
    c.run.train.steps = 6;
    const std::string name = name_of(kind);
    const TunedByPairs expected = tune_by_pairs(c, folder_, 1, name + "_expected");
    c.run.train.steps = 3;
    tune_by_pairs(c, folder_, 1, name);
    c.run.train.steps = 6;
    c.run.parallel.pipeline = 2;
    const TunedByPairs found = tune_by_pairs(c, folder_, 2, name);
    EXPECT_EQ(found.losses,
              std::vector<double>(expected.losses.begin() + 3, expected.losses.end()));
    EXPECT_EQ(train::first_difference(found.state, expected.state), "") << name;
    EXPECT_EQ(found.validation.values, expected.validation.values) << name;
    c.run.train.steps = 7;
    c.run.parallel.pipeline = 1;
    c.run.data.train = {folder_.file("valid.jsonl")};
    c.task.rules.loss.kind = DpoKind::ipo;
    test::expect_error(ExitCode::usage, {"dpo.loss=" + name + ", now it is ipo", "run.dir"},
                       [&] { tune_by_pairs(c, folder_, 1, name); });
  }
}

TEST_F(DpoKinds, KtoTakesPairsApart) {
  DpoTuneConfig c = of(DpoKind::kto);
  c.run.data.train = {write_preferred(folder_.file("train.jsonl"), 20, 1),
                      write_labels(folder_.file("more.jsonl"), 9, 1)};
  c.run.train.steps = 1;
  testing::internal::CaptureStderr();
  tune_by_pairs(c, folder_, 1, "apart");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("26 desirable and 23 undesirable answers"), std::string::npos) << said;
}

TEST_F(DpoKinds, RefuseWhatCannotBe) {
  const auto refused = [&](const DpoTuneConfig& c, Words words) {
    test::expect_error(ExitCode::usage, words, [&] { tune_by_pairs(c, folder_, 1, "refused"); });
  };
  DpoTuneConfig c = of(DpoKind::kto);
  c.task.rules.sft = 0.1;
  refused(c, {"dpo.sft=0.1", "dpo.loss=kto"});
  c = of(DpoKind::simpo);
  c.run.data.train = {write_labels(folder_.file("labels.jsonl"), 6, 1)};
  refused(c, {"no pair of answers is left of 6 training records", "dpo.loss=kto"});
  c = of(DpoKind::kto);
  std::ofstream(folder_.file("one.jsonl")) << R"({"prompt":"a","completion":"b","label":true})"
                                              "\n"
                                           << R"({"prompt":"a","completion":"c","label":false})"
                                              "\n";
  c.run.data.train = {folder_.file("one.jsonl")};
  refused(c, {"all 2 answers are to the same prompt"});
  std::ofstream(folder_.file("scored.jsonl")) << R"({"prompt":"a","completion":"b","score":1})"
                                                 "\n";
  c.run.data.train = {folder_.file("scored.jsonl")};
  refused(c, {"no judged answer is left of 1 training records", "neither a label"});
}

}  // namespace
}  // namespace skein::rlhf::dpo
