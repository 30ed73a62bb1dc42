// What a policy may keep and learn beside its answers: texts, a running mean, a coefficient that
// follows the KL, a critic begun elsewhere.
#include "skein/checkpoint/parameters.h"
#include "skein/data/stores/store.h"
#include "skein/rlhf/oracle/episodes.h"
#include "skein/rlhf/policy/ppo.h"
#include "skein/rlhf/rewards/reward_form.h"
#include "skein/train/run_state.h"

#include "rlhf/tune_fixture.h"
#include "support/expect_error.h"

namespace skein::rlhf::policy {
namespace {

// Likes answers with many symbols of the lowest id.
class ManyFirst : public rewards::RewardSource {
 public:
  std::string name() const override { return "many"; }
  std::vector<double> scores(std::span<const rewards::Answer> answers) override {
    std::vector<double> made;
    for (const rewards::Answer& one : answers)
      made.push_back(static_cast<double>(std::count(one.tokens.begin(), one.tokens.end(), 0)));
    return made;
  }
};

class TunedBeside : public TunedPolicy {
 protected:
  TunedBeside()
      : language_(oracle::oracle_language(folder_.file("language.txt"))),
        tokenizer_(oracle_tokenizer(language_)) {}

  // Texts of the language, each as a document.
  std::string texts(const std::string& name = "texts.h5", uint64_t seed = 5) {
    const oracle::OracleDraws draws(language_, seed);
    data::TokenStoreWriter writer(folder_.file(name), language_.vocab_size(), language_.end_id(),
                                  tokenizer_->to_json());
    for (int64_t i = 0; i < 100; ++i) writer.add_document(draws.text(i), 8);
    writer.finish();
    return folder_.file(name);
  }

  // A policy to begin from, below run NAME.
  checkpoint::CheckpointInfo pretrained(const std::string& name) {
    run(1, {{"ppo.iterations", "1"}}, name);
    return *checkpoint::find_checkpoint(folder_.file(name) + "/pretrained", *single_rank());
  }

  // As run(), but begun from `start`, with that reward, and with settings that run() decides
  // itself.
  Tuned tune_from(const checkpoint::CheckpointInfo& start, int ranks, const Settings& settings,
                  const std::string& name) {
    TuneConfig config = tune_defaults();
    Options options("test", "");
    bind(options, config);
    for (const auto& [key, value] : oracle::oracle_defaults()) options.set(key, value, "test");
    for (const auto& [key, value] : Settings{{"run.dir", folder_.file(name)},
                                             {"ppo.iterations", "4"},
                                             {"ppo.rollout_batch", "32"},
                                             {"train.global_batch", "16"},
                                             {"train.micro_batch", "4"},
                                             {"generate.batch", "8"},
                                             {"ppo.epochs", "1"},
                                             {"parallel.reduction_groups", "4"},
                                             {"lr.lr", "3e-3"},
                                             {"ppo.shown", "0"},
                                             {"run.log_every", "1000"},
                                             {"generate.max_tokens", "3"},
                                             {"checkpoint.every", "1"},
                                             {"checkpoint.keep", "10"}})
      options.set(key, value, "test");
    for (const auto& [key, value] : settings) options.set(key, value, "test");
    config.run.model = stored_model(train::run_state(start.metadata, start.path), start.path);
    settle(config);
    run_ranks(ranks, [&](Group& world) {
      std::vector<rewards::RewardMixture::Part> parts;
      parts.push_back({1, "many", std::make_unique<ManyFirst>()});
      rewards::RewardMixture rewards(std::move(parts));
      const oracle::OraclePrompts prompts(language_, 1);
      tune(config,
           {{start, *tokenizer_}, prompts, rewards, language_.end_id(), oracle_banned(language_)},
           world);
    });
    Tuned tuned;
    tuned.metrics = metrics_in(folder_.file(name) + "/metrics.jsonl");
    tuned.state = train::state_of(folder_.file(name));
    return tuned;
  }

  static void expect_same(const Tuned& found, const Tuned& expected) {
    EXPECT_EQ(found.metrics, expected.metrics);
    EXPECT_EQ(train::first_difference(found.state, expected.state), "");
  }

  // A critic of random weights, saved as a reward model is; head: size of its last ones.
  checkpoint::CheckpointInfo some_critic(const ModelConfig& policy,
                                         const std::string& name = "critic", float head = 0,
                                         const train::TaskNotes& notes = {}) {
    const auto alone = single_rank();
    Mesh mesh(*alone, {1, 1, 1});
    LocalModel critic(critic_model(policy), {}, mesh, DType::f32);
    critic.parameters().allocate(false);
    critic.parameters().initialize(77);
    train::RunState state;
    state.tokenizer = text::StoredTokenizer(tokenizer_->to_json());
    state.notes = notes;
    const std::vector<checkpoint::Piece> pieces = checkpoint::parameter_pieces(critic.parameters());
    for (const checkpoint::Piece& piece : pieces)
      if (piece.name == "param/classifier.weight")
        for (float& weight : std::span(reinterpret_cast<float*>(piece.data),
                                       static_cast<size_t>(piece.end - piece.begin)))
          weight = head = -head;
    checkpoint::CheckpointStore(folder_.file(name), 1, *alone)
        .save(1, pieces, to_json(state, {1, 1, 1}));
    return *checkpoint::find_checkpoint(folder_.file(name), *alone);
  }

  oracle::OracleLanguage language_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
};

std::vector<double> told(const Tuned& tuned, const char* name) {
  std::vector<double> made;
  for (const auto& line : tuned.metrics) made.push_back(line.value(name, -1.0));
  return made;
}

TEST_F(TunedBeside, TextsAndAMeanGiveEqualBits) {
  expect_equal_at_layouts({{"ptx.data", texts()},
                           {"ptx.batch", "8"},
                           {"ptx.length", "5"},
                           {"ptx.coefficient", "0.7"},
                           {"ppo.ema", "0.9"}});
}

TEST_F(TunedBeside, TextsAndAMeanInBf16GiveEqualBits) {
  expect_equal_at_layouts({{"ptx.data", texts()},
                           {"ppo.ema", "0.9"},
                           {"train.precision", "bf16"},
                           {"critic.kind", "shared"}});
}

TEST_F(TunedBeside, TextsOverShardsOfTheVocabularyAgree) {
  const Settings settings{{"ptx.data", texts()}, {"ppo.ema", "0.9"}};
  Settings sharded = settings;
  sharded.emplace_back("parallel.tensor", "2");
  const double expected = told(run(1, settings, "alone"), "ptx_loss").front();
  EXPECT_NEAR(told(run(2, sharded, "tensor"), "ptx_loss").front(), expected, 1e-4);
}

TEST_F(TunedBeside, TextsAndAMeanGoOnWhereTheyWere) {
  const Settings settings{{"ptx.data", texts()},
                          {"ppo.ema", "0.9"},
                          {"checkpoint.every", "1"},
                          {"checkpoint.keep", "10"},
                          {"critic.kind", "shared"}};
  const Tuned whole = run(1, settings, "killed");
  forget_from(tuned_at("killed"), 2);
  std::filesystem::remove_all(tuned_at("killed") + "/ema");
  Settings other = settings;
  other.emplace_back("parallel.zero", "true");
  expect_equal(run(2, other, "killed"), whole);
  EXPECT_FALSE(whole.mean.empty());
}

TEST_F(TunedBeside, OtherTextsUnderTheirNameAreRefused) {
  Settings settings{{"ptx.data", texts()}, {"ppo.iterations", "1"}, {"checkpoint.every", "1"}};
  run(1, settings);
  texts("texts.h5", 6);
  settings[1].second = "2";
  test::expect_error(
      ExitCode::usage,
      {"ptx.data: " + folder_.file("texts.h5") + " was ", "checkpoint.other_data=true"},
      [&] { run(1, settings); });
  settings.emplace_back("checkpoint.other_data", "true");
  EXPECT_EQ(run(1, settings).metrics.size(), 2u);
}

// Tuning alone takes the policy away from its texts; with them beside it stays nearer.
TEST_F(TunedBeside, TextsAreLearnt) {
  const Settings longer{{"ppo.iterations", "12"},
                        {"oracle.pretraining", "200"},
                        {"ptx.data", texts()},
                        {"lr.decay", "constant"}};
  const auto last_loss = [&](const char* coefficient) {
    Settings settings = longer;
    settings.emplace_back("ptx.coefficient", coefficient);
    return told(run(1, settings, std::string("texts-") + coefficient), "ptx_loss").back();
  };
  const double hardly = last_loss("1e-6"), strongly = last_loss("30");
  EXPECT_GT(hardly, 0);
  EXPECT_LT(strongly, hardly - 0.02);
}

TEST_F(TunedBeside, TextsMustFit) {
  const auto refused = [&](Settings settings, std::initializer_list<std::string> words) {
    test::expect_error(ExitCode::usage, words, [&] { run(1, settings); });
  };
  refused({{"ptx.data", texts()}, {"ptx.batch", "6"}}, {"ptx.batch=6", "4 groups", "nearest", "8"});
  refused({{"ptx.data", texts()}, {"ptx.length", "1000"}}, {"ptx.length=1000", "context"});
  refused({{"ptx.data", texts()}, {"ptx.coefficient", "0"}}, {"ptx.coefficient=0"});
  train::write_small_store(folder_.file("other.h5"));
  refused({{"ptx.data", folder_.file("other.h5")}}, {"other.h5", "ptx.data", "another tokenizer"});
  refused({{"ppo.ema", "1"}}, {"ppo.ema=1"});
}

TEST_F(TunedBeside, TheMeanIsAModelOfItsOwn) {
  const checkpoint::CheckpointInfo start = pretrained("base");
  const Settings settings{{"ppo.ema", "0.9"}};
  const Tuned tuned = tune_from(start, 1, settings, "mean");
  const train::State mean = train::state_of(folder_.file("mean/ema"));
  ASSERT_FALSE(mean.empty());
  for (const auto& [name, bytes] : mean) {
    ASSERT_TRUE(name.starts_with("param/")) << name;
    ASSERT_TRUE(tuned.state.contains("ema_" + name)) << name;
    EXPECT_EQ(bytes, tuned.state.at("ema_" + name)) << name;
    EXPECT_NE(bytes, tuned.state.at(name)) << name;
  }
  const checkpoint::CheckpointInfo found =
      *checkpoint::find_checkpoint(folder_.file("mean/ema"), *single_rank());
  const Tuned again = tune_from(found, 1, {{"ppo.iterations", "1"}}, "from-mean");
  EXPECT_EQ(told(again, "kl"), std::vector<double>{0})
      << "it begins as the mean, which is its reference too";
}

TEST_F(TunedBeside, AMeanIsOfAllStepsOrOfNone) {
  const checkpoint::CheckpointInfo start = pretrained("base");
  tune_from(start, 1, {{"ppo.iterations", "1"}}, "run2");
  test::expect_error(ExitCode::usage, {"ppo.ema=0", "0.9", "another run.dir"}, [&] {
    tune_from(start, 1, {{"ppo.ema", "0.9"}}, "run2");
  });
}

TEST_F(TunedBeside, AnAdaptiveCoefficientGivesEqualBitsAndGoesOn) {
  const checkpoint::CheckpointInfo start = pretrained("base");
  const Settings settings{{"kl.control", "adaptive"},
                          {"kl.target", "0.001"},
                          {"kl.horizon", "500"},
                          {"kl.beta", "0.2"}};
  const Tuned whole = tune_from(start, 1, settings, "alone");
  const std::vector<double> betas = told(whole, "kl_beta");
  ASSERT_EQ(betas.size(), 4u);
  EXPECT_DOUBLE_EQ(betas[0], 0.2);
  EXPECT_NEAR(betas[3] / betas[2], 1 + 0.2 * 32 / 500, 1e-12) << "the KL is far above its target";
  expect_same(tune_from(start, 2, settings, "two"), whole);
  Settings layout = settings;
  layout.insert(layout.end(), {{"parallel.pipeline", "2"}, {"train.micro_batch", "2"}});
  expect_same(tune_from(start, 2, layout, "stages"), whole);
  forget_from(folder_.file("alone"), 3);
  expect_same(tune_from(start, 2, settings, "alone"), whole);
}

TEST_F(TunedBeside, ACriticLearnsFirst) {
  const checkpoint::CheckpointInfo start = pretrained("base");
  const Settings settings{{"critic.warmup", "2"}};
  const Tuned tuned = tune_from(start, 1, settings, "warm");
  const std::vector<double> kl = told(tuned, "kl"), explained = told(tuned, "explained_variance");
  ASSERT_EQ(kl.size(), 4u);
  for (size_t i : {0u, 1u, 2u})
    EXPECT_EQ(kl[i], 0) << "nothing but the critic has learnt before iteration " << i + 1;
  EXPECT_NE(kl[3], 0);
  EXPECT_EQ(explained[0], 0) << "its head begins with zeros";
  EXPECT_NE(explained[1], 0);
  EXPECT_FALSE(tuned.metrics[1].contains("policy_loss"));
  EXPECT_TRUE(tuned.metrics[2].contains("policy_loss"));
  forget_from(folder_.file("warm"), 2);
  expect_same(tune_from(start, 1, settings, "warm"), tuned);
}

TEST_F(TunedBeside, ACriticBeginsWithGivenWeights) {
  const checkpoint::CheckpointInfo start = pretrained("base");
  const checkpoint::CheckpointInfo critic =
      some_critic(stored_model(train::run_state(start.metadata, start.path), start.path));
  const Tuned tuned = tune_from(
      start, 1, {{"critic.load", critic.path}, {"ppo.iterations", "1"}, {"critic.lr", "1e-30"}},
      "loaded");
  const std::string name = "param/embedding.tokens.weight";
  EXPECT_EQ(tuned.state.at("critic_" + name), train::state_of(critic.path).at(name))
      << "a learning rate that moves nothing";
  EXPECT_NE(tuned.state.at("critic_" + name), train::state_of(start.path).at(name));
  test::expect_error(ExitCode::usage, {"critic.load=" + folder_.file("nothing"), "no checkpoint"},
                     [&] {
                       tune_from(start, 1, {{"critic.load", folder_.file("nothing")}}, "refused");
                     });
}

TEST_F(TunedBeside, ACriticBegunFromARewardModelHasTheScaleOfItsRewards) {
  const checkpoint::CheckpointInfo start = pretrained("base");
  const ModelConfig policy = stored_model(train::run_state(start.metadata, start.path), start.path);
  const auto notes = [](double mean) {
    return to_notes(
        rewards::RewardHead{.chat_template = {}, .length = 8, .mean = mean, .deviation = 4}, 1);
  };
  const auto value_loss = [&](const checkpoint::CheckpointInfo& critic, const std::string& name) {
    return told(tune_from(
                    start, 1,
                    {{"critic.load", critic.path}, {"ppo.iterations", "1"}, {"critic.lr", "1e-30"}},
                    name),
                "critic_value_loss")
        .front();
  };
  const double divided = value_loss(some_critic(policy, "divided", 0.25f), "one");
  EXPECT_EQ(value_loss(some_critic(policy, "scored", 1, notes(0)), "two"), divided);
  EXPECT_NE(value_loss(some_critic(policy, "raw", 1), "three"), divided);
  const checkpoint::CheckpointInfo moved = some_critic(policy, "moved", 1, notes(3));
  EXPECT_NE(value_loss(moved, "four"), divided);
  const Settings settings{{"critic.load", moved.path}, {"ppo.iterations", "3"}};
  const Tuned whole = tune_from(start, 1, settings, "whole");
  forget_from(folder_.file("whole"), 2);
  expect_same(tune_from(start, 1, settings, "whole"), whole);
}

TEST_F(TunedBeside, TheReferenceIsKnownByItsBytes) {
  const checkpoint::CheckpointInfo start = pretrained("base");
  tune_from(start, 1, {{"ppo.iterations", "1"}}, "run");
  std::filesystem::copy(start.path, folder_.file("copy"), std::filesystem::copy_options::recursive);
  const auto alone = single_rank();
  tune_from(*checkpoint::find_checkpoint(folder_.file("copy"), *alone), 1,
            {{"ppo.iterations", "2"}}, "run");
  checkpoint::CheckpointInfo other = start;
  ++other.sum;
  test::expect_error(ExitCode::usage, {"was tuned from " + start.path, "others"}, [&] {
    tune_from(other, 1, {{"ppo.iterations", "3"}}, "run");
  });
}

}  // namespace
}  // namespace skein::rlhf::policy
