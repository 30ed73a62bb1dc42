// Reward models learn the utility that preferences were drawn by, to the same bits at every layout,
// and go on where they were.
#include "skein/core/numbers.h"
#include "skein/rlhf/rewards/reward_model_source.h"
#include "skein/train/scores.h"

#include "rlhf/reward_pairs.h"
#include "support/expect_error.h"

namespace skein::rlhf::rewards {
namespace {

using Json = nlohmann::json;

// The floor of the loss is what the utility itself has on the fresh pairs; within a prompt the
// score is the utility plus a constant.
TEST_F(RewardTasks, LearnAKnownUtility) {
  for (bool encoder : {false, true}) {
    RewardConfig c = small_reward(encoder);
    c.run.data.train = {write_pairs(folder_.file("train.jsonl"), 3000, 1)};
    c.run.data.validation = {write_pairs(folder_.file("valid.jsonl"), 600, 2)};
    c.task.epochs = 2;
    c.task.reference_samples = 64;
    const Trained trained = train_reward(c, folder_, 1, encoder ? "encoder" : "decoder");
    const PreferenceReport& report = trained.report;
    double floor = 0, bayes = 0;
    for (const auto& record : data::read_preferences({.files = c.run.data.validation}).records) {
      const double gap = worth(record.answers[0]) - worth(record.answers[1]);
      floor -= log_sigmoid(gap) / 600;
      bayes += (gap > 0 ? 1 : gap == 0 ? 0.5 : 0) / 600.0;
    }
    EXPECT_LT(report.pair_loss, floor + 0.03) << report.text();
    EXPECT_GT(report.pair_loss, floor - 0.02) << report.text();
    EXPECT_NEAR(report.accuracy, bayes, 0.04) << report.text();
    EXPECT_NEAR(report.slope, 1, 0.15) << report.text();
    EXPECT_LT(report.calibration_error, 0.08);
    EXPECT_FALSE(report.length_explains());
    run_ranks(1, [&](Group& world) {
      Mesh mesh(world, {1, 1, 1});
      RewardModel model(folder_.file(encoder ? "encoder" : "decoder"), {}, DType::f32, 8, mesh);
      Chance chance(3);
      std::vector<std::string> answers;
      std::vector<double> truth;
      for (int i = 0; i < 200; ++i)
        truth.push_back(worth(answers.emplace_back(drawn_answer(chance))));
      const std::vector<text::Message> prompt{{"user", "ask"}};
      std::vector<double> found = model.scores(model.form().sequences(prompt, answers));
      RecordProperty(encoder ? "pearson_of_encoder" : "pearson_of_decoder",
                     fmt::format("{:.4f}", train::pearson(truth, found)));
      EXPECT_GT(train::pearson(truth, found), 0.98);
      for (double& score : found) score *= model.head().deviation;
      double covariance = 0, variance = 0, mean = 0, mean_found = 0;
      for (size_t i = 0; i < truth.size(); ++i)
        mean += truth[i] / 200, mean_found += found[i] / 200;
      for (size_t i = 0; i < truth.size(); ++i)
        covariance += (truth[i] - mean) * (found[i] - mean_found),
            variance += (truth[i] - mean) * (truth[i] - mean);
      EXPECT_NEAR(covariance / variance, 1, 0.15);
    });
  }
}

TEST_F(RewardTasks, GiveReferenceAnswersMeanZeroAndDeviationOne) {
  RewardConfig c = small_reward();
  c.run.data.train = {write_pairs(folder_.file("train.jsonl"), 64, 1)};
  std::ofstream(folder_.file("good.jsonl")) << R"({"prompt":"ask","completion":"a c"}
{"prompt":"ask","completion":"d"}
{"prompt":"ask","completion":"a"}
)";
  c.task.reference = {folder_.file("good.jsonl")};
  c.run.train.steps = 8;
  train_reward(c, folder_, 1, "run");
  const std::vector<text::Message> prompt{{"user", "ask"}};
  const std::vector<std::string> answers{"a c", "d", "a", "b b"};
  std::vector<double> alone;
  for (const auto& [data, pipeline] : {std::pair{1, 1}, {2, 1}, {1, 2}})
    run_ranks(data * pipeline, [&, pipeline = pipeline](Group& world) {
      ParallelConfig parallel;
      parallel.pipeline = pipeline;
      Mesh mesh(world, mesh_shape(parallel, world.size()));
      RewardModel model(folder_.file("run"), parallel, DType::f32, 2, mesh);
      const std::vector<double> scores = model.scores(model.form().sequences(prompt, answers));
      if (alone.empty()) alone = scores;
      EXPECT_EQ(scores, alone) << "rank " << world.rank() << " of " << data << " x " << pipeline;
      // The same as tokens, whose end is appended where it is missing.
      std::vector<data::FormedSample> sequences = model.form().sequences(prompt, answers);
      sequences[1].tokens.pop_back();
      for (data::FormedSample& sequence : sequences)
        sequence = model.form().sequence(std::move(sequence.tokens));
      EXPECT_EQ(model.scores(std::move(sequences)), alone);
      EXPECT_TRUE(model.scores(std::vector<data::FormedSample>()).empty());
    });
  run_ranks(2, [&](Group& world) {
    Mesh mesh(world, {1, 2, 1});
    const text::StoredTemplate own_template =
        text::ChatTemplate("none", *text::byte_tokenizer()).stored();
    RewardModelSource reward(folder_.file("run"),
                             {text::StoredTokenizer(text::byte_tokenizer()), own_template}, {},
                             DType::f32, 2, mesh);
    RewardModelSource by_text(folder_.file("run"),
                              {text::StoredTokenizer(text::bpe_tokenizer({{1, 2}})), own_template},
                              {}, DType::f32, 2, mesh);
    std::vector<Answer> asked(4);
    for (size_t i = 0; i < 4; ++i) {
      asked[i].prompt.messages = {{"user", "ask"}};
      asked[i].text = answers[i];
      asked[i].prompt.tokens = text::byte_tokenizer()->encode("ask");
      asked[i].tokens = text::byte_tokenizer()->encode(answers[i]);
      asked[i].ended = i % 2;
      if (asked[i].ended) asked[i].tokens.push_back(256);
    }
    EXPECT_EQ(reward.scores(asked), alone)
        << "an answer that was cut off is judged as if it had ended";
    EXPECT_EQ(by_text.scores(asked), alone);
    EXPECT_NE(reward.name().find("model:"), std::string::npos);
    // The whole dialogue is judged, not its last turn.
    const std::vector<text::Message> talk{{"user", "a"}, {"assistant", "d"}, {"user", "ask"}};
    std::vector<Answer> heard{asked[2], asked[2]};
    heard[0].prompt.messages = talk;
    const std::vector<double> judged = by_text.scores(heard);
    RewardModel model(folder_.file("run"), {}, DType::f32, 2, mesh);
    EXPECT_EQ(judged[0], model.scores(model.form().sequences(talk, std::span(&answers[2], 1)))[0]);
    EXPECT_NE(judged[0], judged[1]);
    asked[3].text = std::string(40, 'a');
    test::expect_error(ExitCode::usage, {"prompt 0", "24 tokens"}, [&] { by_text.scores(asked); });
  });
  EXPECT_NEAR(alone[0] + alone[1] + alone[2], 0, 1e-4);
  EXPECT_NEAR(alone[0] * alone[0] + alone[1] * alone[1] + alone[2] * alone[2], 3, 1e-3);
}

TEST_F(RewardTasks, TakeTheBetterOfSingleAnswersAsReference) {
  const std::string good[] = {"a c", "d", "a"}, bad[] = {"b", "b b", "f", "e b", "b f"};
  for (const bool labels : {true, false}) {
    std::ofstream file(folder_.file("single.jsonl"));
    const auto write = [&](std::span<const std::string> answers, const Json& value) {
      for (const std::string& answer : answers)
        file << Json{{"prompt", "ask"}, {"answer", answer}, {labels ? "label" : "score", value}}
             << '\n';
    };
    write(good, labels ? Json(true) : Json(0.5));
    write(bad, labels ? Json(false) : Json(-3.25));
    file.close();
    RewardConfig c = small_reward();
    c.run.data.train = {folder_.file("single.jsonl")};
    c.run.train.steps = 8;
    const std::string run = labels ? "labelled" : "scored";
    train_reward(c, folder_, 1, run);
    run_ranks(1, [&](Group& world) {
      Mesh mesh(world, {1, 1, 1});
      RewardModel model(folder_.file(run), {}, DType::f32, 2, mesh);
      const std::vector<text::Message> prompt{{"user", "ask"}};
      const std::vector<double> scores = model.scores(model.form().sequences(prompt, good));
      EXPECT_NEAR(scores[0] + scores[1] + scores[2], 0, 1e-4) << run;
      EXPECT_NEAR(scores[0] * scores[0] + scores[1] * scores[1] + scores[2] * scores[2], 3, 1e-3);
    });
  }
}

// An answer "ab" that was sampled as "a" and "b", which no encoding of a text with a merge of both
// gives.
Answer sampled_answer(const text::Tokenizer& tokenizer, const text::ChatTemplate& form) {
  Answer answer;
  answer.prompt.messages = {{"user", "ask"}};
  answer.text = "ab";
  answer.prompt.tokens = form.prompt(answer.prompt.messages);
  for (const char* part : {" ", "a", "b"}) answer.tokens.push_back(tokenizer.encode(part).at(0));
  answer.tokens.push_back(form.end());
  answer.ended = true;
  return answer;
}

TEST_F(RewardTasks, JudgeTheTokensThatWereSampled) {
  const auto tokenizer = text::bpe_tokenizer({{64, 65}});
  const text::ChatTemplate form("plain", *tokenizer), other("none", *tokenizer);
  Answer answer = sampled_answer(*tokenizer, form);
  ASSERT_EQ(tokenizer->encode(" ab").size(), 2u) << "a space, and both letters as one token";
  RewardConfig c = small_reward();
  c.run.model.vocab_size = tokenizer->vocab_size();
  c.run.model.context = 40;
  c.run.data.train = {write_pairs(folder_.file("train.jsonl"), 64, 1)};
  c.run.train.steps = 4;
  c.task.chat_template = "plain";
  train_reward(c, folder_, 1, "run", tokenizer->to_json());
  const auto judged = [&](const PolicyText& policy, std::string* said = nullptr) {
    double score = 0;
    testing::internal::CaptureStderr();
    run_ranks(1, [&](Group& world) {
      Mesh mesh(world, {1, 1, 1});
      score = RewardModelSource(folder_.file("run"), policy, {}, DType::f32, 2, mesh)
                  .scores(std::span(&answer, 1))[0];
    });
    const std::string log = testing::internal::GetCapturedStderr();
    if (said != nullptr) *said = log;
    return score;
  };
  double of_tokens = 0, of_text = 0;
  run_ranks(1, [&](Group& world) {
    Mesh mesh(world, {1, 1, 1});
    RewardModel model(folder_.file("run"), {}, DType::f32, 2, mesh);
    std::vector<int32_t> tokens = answer.prompt.tokens;
    tokens.insert(tokens.end(), answer.tokens.begin(), answer.tokens.end());
    of_tokens = model.scores({model.form().sequence(tokens)})[0];
    of_text =
        model.scores(model.form().sequences(answer.prompt.messages, std::span(&answer.text, 1)))[0];
  });
  ASSERT_NE(of_tokens, of_text);
  const auto expect = [&](const PolicyText& policy, double score, const std::string& words) {
    std::string said;
    EXPECT_EQ(judged(policy, &said), score) << words;
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  const text::StoredTokenizer own(tokenizer->to_json());
  const text::StoredTemplate sorted(Json::parse(form.to_json()).dump());
  ASSERT_FALSE(sorted == form.stored()) << "keys in another order";
  expect({own, form.stored()}, of_tokens, "is fed the tokens as they were sampled");
  expect({own, sorted}, of_tokens, "is fed the tokens as they were sampled");
  expect({own, other.stored()}, of_text,
         "is fed texts, the turns of each prompt and the answer: its chat template is not the "
         "policy's");
  expect({text::StoredTokenizer(text::bpe_tokenizer({{65, 64}})), form.stored()}, of_text,
         "its tokenizer is not the policy's");
  Json untrimmed = Json::parse(form.to_json());
  untrimmed["trim"] = false;
  expect({own, text::StoredTemplate(untrimmed.dump())}, of_text,
         "its chat template is not the policy's");
  answer.cut = true;
  expect({own, form.stored()}, of_text, "is fed the tokens as they were sampled");
  answer.cut = false;
  expect({own, {}}, of_text, "the policy's prompts are of no chat template");
  const auto check = [&](int64_t max_tokens, int64_t context) {
    run_ranks(1, [&](Group& world) {
      Mesh mesh(world, {1, 1, 1});
      RewardModelSource(folder_.file("run"), {own, form.stored(), max_tokens, context}, {},
                        DType::f32, 2, mesh)
          .check_prompt(answer.prompt);
    });
  };
  check(38, 80);
  check(39, 40);
  test::expect_error(ExitCode::usage,
                     {"can judge 40 tokens", "an answer to prompt 0 may have 40 with its end",
                      "generate.max_tokens=38 at most, not 39"},
                     [&] { check(39, 80); });
  answer.tokens.insert(answer.tokens.begin(), 36, answer.tokens.front());
  test::expect_error(ExitCode::usage, {"the answer to prompt 0", "40 tokens"}, [&] {
    judged({own, form.stored()});
  });
  testing::internal::GetCapturedStderr();
}

TEST_F(RewardTasks, GiveEqualBitsAtEveryLayout) {
  struct Case {
    bool encoder;
    DType precision;
    int64_t frozen;
    double ridge;
  };
  for (const Case& each : {Case{false, DType::f32, -1, 0.001}, Case{true, DType::f32, 1, 0},
                           Case{false, DType::bf16, -1, 0}}) {
    RewardConfig c = small_reward(each.encoder);
    c.run.model.context = 16;
    c.run.data.train = {write_mixed(folder_.file("mixed.jsonl")),
                        write_scores(folder_.file("scores.jsonl"))};
    c.run.data.validation = {write_pairs(folder_.file("valid.jsonl"), 20, 2)};
    c.run.train.steps = 6;
    c.run.train.precision = each.precision;
    c.run.train.frozen_layers = each.frozen;
    c.run.optimizer.ridge = each.ridge;
    c.run.parallel.reduction_groups = 4;
    c.task.loss = {0.1, 0.01};
    const std::string name = fmt::format("case{}{}", each.encoder, name_of(each.precision));
    const Trained expected = train_reward(c, folder_, 1, name);
    for (const auto& [data, pipeline, zero] :
         {std::tuple{2, 1, false}, {4, 1, true}, {1, 2, false}, {2, 2, true}}) {
      c.run.parallel.pipeline = pipeline;
      c.run.parallel.zero = zero;
      c.run.train.micro_batch = data == 2 ? 2 : pipeline == 2 ? 8 : 1;
      const std::string other = fmt::format("{}_{}{}{}", name, data, pipeline, zero);
      const Trained found = train_reward(c, folder_, data * pipeline, other);
      EXPECT_EQ(found.losses, expected.losses) << other;
      EXPECT_EQ(found.grad_norms, expected.grad_norms) << other;
      EXPECT_EQ(train::first_difference(found.state, expected.state), "") << other;
      EXPECT_EQ(found.validation.values, expected.validation.values) << other;
      EXPECT_EQ(found.notes, expected.notes) << other;
    }
  }
}

TEST_F(RewardTasks, TensorParallelRanksAgree) {
  for (bool encoder : {false, true})
    for (bool sequence : {false, true}) {
      RewardConfig c = small_reward(encoder);
      c.run.data.train = {write_mixed(folder_.file("mixed.jsonl"))};
      c.run.train.steps = 5;
      c.run.optimizer.ridge = 0.001;
      const Trained expected = train_reward(c, folder_);
      c.run.parallel.tensor = 2;
      c.run.parallel.sequence = sequence;
      const Trained found = train_reward(c, folder_, 2);
      ASSERT_EQ(found.losses.size(), 5u);
      for (size_t i = 0; i < 5; ++i)
        EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-4) << encoder << sequence;
    }
}

TEST_F(RewardTasks, GoOnWithEqualBits) {
  RewardConfig c = small_reward();
  c.run.data.train = {write_pairs(folder_.file("train.jsonl"), 96, 1)};
  c.run.data.validation = {write_pairs(folder_.file("valid.jsonl"), 20, 2)};
  c.run.train.steps = 8;
  c.run.lr.decay = train::LrConfig::Decay::constant;
  const Trained expected = train_reward(c, folder_, 1, "expected");
  c.run.train.steps = 4;
  train_reward(c, folder_, 1, "run");
  c.run.train.steps = 8;
  c.run.parallel.pipeline = 2;
  const Trained found = train_reward(c, folder_, 2, "run");
  EXPECT_EQ(found.losses, std::vector<double>(expected.losses.begin() + 4, expected.losses.end()));
  EXPECT_EQ(train::first_difference(found.state, expected.state), "");
  EXPECT_EQ(found.validation.values, expected.validation.values);
  EXPECT_EQ(found.notes, expected.notes);
  c.run.train.steps = 9;
  c.run.parallel.pipeline = 1;
  c.task.loss.centring = 0.5;
  testing::internal::CaptureStderr();
  train_reward(c, folder_, 1, "run");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("reward.margin=0 and reward.centring=0, now they are 0 and 0.5"),
            std::string::npos)
      << said;
  c.task.length = 20;
  test::expect_error(ExitCode::usage, {"reward.length=24, now it is 20"},
                     [&] { train_reward(c, folder_, 1, "run"); });
  c.task.length = 0;
  c.task.chat_template = "plain";
  test::expect_error(ExitCode::usage, {"another chat template"},
                     [&] { train_reward(c, folder_, 1, "run"); });
}

TEST_F(RewardTasks, RefuseWhatDoesNotFit) {
  const auto error_of = [&](auto change, std::initializer_list<std::string> words) {
    RewardConfig c = small_reward();
    c.run.data.train = {write_pairs(folder_.file("train.jsonl"), 8, 1)};
    change(c);
    test::expect_error(ExitCode::usage, words, [&] { RewardTask(c, text::byte_tokenizer(), {}); });
  };
  error_of([](RewardConfig& c) { c.run.data.train.clear(); }, {"data.train names no file"});
  error_of([](RewardConfig& c) { c.task.length = 25; }, {"reward.length=25", "model.context=24"});
  error_of([](RewardConfig& c) { c.task.loss.margin = -1; }, {"reward.margin=-1"});
  error_of([](RewardConfig& c) { c.task.epochs = 0; }, {"reward.epochs=0"});
  error_of([](RewardConfig& c) { c.task.chat_template = "chatml"; }, {"chatml"});
  std::ofstream(folder_.file("system.jsonl"))
      << R"({"prompt":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"chosen":"a","rejected":"b"})";
  std::ofstream(folder_.file("form.json"))
      << R"({"user":{"open":"U","close":""},"assistant":{"open":"A","close":"{eos}"},"end":"{eos}"})";
  error_of(
      [&](RewardConfig& c) {
        c.run.data.train = {folder_.file("system.jsonl")};
        c.task.chat_template = folder_.file("form.json");
      },
      {"system.jsonl:1", "system", "data.bad_records=N"});
  error_of([](RewardConfig& c) { c.task.loss.margin = 0.5; },
           {"reward.margin=0.5", "no pair or ranked list of data.train has grades"});
  error_of(
      [&](RewardConfig& c) {
        c.task.reference = c.run.data.train;
        c.task.reference_samples = 0;
      },
      {"data.reference=", "reward.reference_samples=0"});
  error_of([](RewardConfig& c) { c.task.epochs = 1e30; }, {"reward.epochs=1e+30", "at most 1e+12"});
  RewardConfig some = small_reward();
  some.run.data.train = {write_pairs(folder_.file("train.jsonl"), 8, 1),
                         folder_.file("system.jsonl")};
  some.task.chat_template = folder_.file("form.json");
  some.task.bad_records = 1;
  EXPECT_EQ(RewardTask(some, text::byte_tokenizer(), {}).samples().all().size(), 8u);
  error_of([](RewardConfig& c) { c.run.model.vocab_size = 100; }, {"the model knows 100 ids"});
  run_ranks(1, [&](Group& world) {
    Mesh mesh(world, {1, 1, 1});
    test::expect_error(ExitCode::usage, {"holds no checkpoint"},
                       [&] { RewardModel(folder_.path(), {}, DType::f32, 1, mesh); });
  });
}

}  // namespace
}  // namespace skein::rlhf::rewards
