// What a row of a pair holds, which pairs records give, and the gradient of what is learnt from
// them.
#include "skein/comm/local.h"
#include "skein/models/gpt/gpt.h"
#include "skein/rlhf/dpo/task.h"

#include "data/data_fixtures.h"
#include "support/gradient_check.h"

namespace skein::rlhf::dpo {
namespace {

std::vector<int32_t> row_of(const Tensor& of, int64_t row) {
  const int64_t columns = of.dim(1);
  const int32_t* from = of.data<int32_t>() + row * columns;
  return {from, from + columns};
}

// Prompt 1 2 with answers 3 4 5 and 6 7; prompt 8 with answers 9 and 3 10.
AnswerPairs two_pairs() {
  AnswerPairs made;
  made.answers = {{{1, 2, 3, 4, 5}, 2}, {{1, 2, 6, 7}, 2}, {{8, 9}, 1}, {{8, 3, 10}, 1}};
  made.pairs = {{0, 1}, {3, 2}};
  return made;
}

TEST(DpoSamples, PutsBothAnswersInOneRow) {
  DpoSamples samples(two_pairs(), 4, 0, 1, false);
  EXPECT_EQ(samples.length(), 8);
  EXPECT_EQ(samples.places(), 5);
  const data::Batch batch = samples.batch(0, 2);
  EXPECT_EQ(row_of(batch.tokens, 0), (std::vector<int32_t>{1, 2, 3, 4, 1, 2, 6, 0}));
  EXPECT_EQ(row_of(batch.positions, 0), (std::vector<int32_t>{0, 1, 2, 3, 0, 1, 2, 0}));
  EXPECT_EQ(row_of(batch.segments, 0), (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, -1}));
  EXPECT_EQ(row_of(batch.places, 0), (std::vector<int32_t>{1, 2, 3, 5, 6}));
  EXPECT_EQ(row_of(batch.targets, 0), (std::vector<int32_t>{3, 4, 5, 6, 7}));
  EXPECT_EQ(row_of(batch.places, 1), (std::vector<int32_t>{0, 1, 2, -1, -1}));
  EXPECT_EQ(row_of(batch.targets, 1), (std::vector<int32_t>{3, 10, 9, 0, 0}));
  const std::vector<float> weights(batch.weights.span<float>().begin(),
                                   batch.weights.span<float>().end());
  EXPECT_EQ(weights, (std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}));
  for (int64_t i = 0; i < 10; ++i)
    EXPECT_EQ(batch.known.data<float>()[2 * i], i == 3 || i == 4 || i == 7) << i;
}

TEST(DpoSamples, RemembersTheReferenceInAnyOrder) {
  AnswerPairs pairs = two_pairs();
  for (int i = 0; i < 6; ++i) pairs.pairs.push_back(pairs.pairs[static_cast<size_t>(i % 2)]);
  DpoSamples samples(pairs, 1, 0, 3, true);
  const data::Batch before = samples.batch(0, 8);
  const Tensor logps = Tensor::zeros({8, 5, 2}, DType::f32);
  for (int64_t i = 0; i < 40; ++i) logps.data<float>()[2 * i] = static_cast<float>(-i - 1);
  samples.remember(logps);
  const data::Batch after = samples.batch(0, 8), next = samples.batch(8, 8);
  double sum = 0;
  for (int64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(before.known.data<float>()[2 * i + 1], 0);
    EXPECT_EQ(after.known.data<float>()[2 * i + 1], after.weights.data<float>()[i] > 0 ? -i - 1 : 0)
        << i;
    sum += after.known.data<float>()[2 * i + 1];
  }
  double again = 0, of_pairs = 0;
  for (int64_t i = 0; i < 40; ++i) again += next.known.data<float>()[2 * i + 1];
  for (int64_t pair = 0; pair < 8; ++pair)
    of_pairs += samples.reference(pair).ref_chosen + samples.reference(pair).ref_rejected;
  EXPECT_EQ(again, sum) << "the next epoch has the same pairs";
  EXPECT_EQ(of_pairs, sum);
  EXPECT_NEAR(samples.mean_reference(), sum / (4 * 5 + 4 * 3), 1e-12);
  EXPECT_NE(samples.checksum(), DpoSamples(two_pairs(), 1, 0, 3, true).checksum());
}

data::PreferenceRecord record_of(data::PreferenceKind kind, std::vector<std::string> answers,
                                 std::vector<double> values) {
  data::PreferenceRecord made;
  made.kind = kind;
  made.prompt = {{"user", "ask"}};
  made.grades.resize(answers.size());
  made.answers = std::move(answers);
  made.values = std::move(values);
  made.line = 7;
  return made;
}

using Indices = std::vector<std::pair<size_t, size_t>>;

Indices indices(const PairData& data) {
  Indices made;
  for (const auto& pair : data.pairs.pairs) made.emplace_back(pair.chosen, pair.rejected);
  return made;
}

TEST(DpoPairs, ComeWithLabelledAnswersWhereTheseAreAskedFor) {
  const auto tokenizer = text::byte_tokenizer();
  const text::ChatTemplate form("none", *tokenizer);
  const data::PreferencesConfig files{.files = {"x.jsonl"}};
  std::vector<data::PreferenceRecord> records{
      record_of(data::PreferenceKind::ranked, {"a", "b"}, {0, 1}),
      record_of(data::PreferenceKind::scored, {"c"}, {1}),
      record_of(data::PreferenceKind::scored, {"d"}, {0}),
      record_of(data::PreferenceKind::scored, {"e"}, {1})};
  records[1].labelled = records[2].labelled = true;
  const PairData all = paired(form, records, files, 20, rewards::LongPrompts::cut, true);
  EXPECT_EQ(indices(all), (Indices{{1, 0}, {2, AnswerPairs::none}, {AnswerPairs::none, 3}}));
  EXPECT_EQ(all.without, 1) << "a score is no label";
  const PairData pairs = paired(form, records, files, 20, rewards::LongPrompts::cut);
  EXPECT_EQ(indices(pairs), (Indices{{1, 0}}));
  EXPECT_EQ(pairs.without, 3);
}

TEST(DpoPairs, AreAllOfWhichOneIsBetter) {
  const auto tokenizer = text::byte_tokenizer();
  const text::ChatTemplate form("none", *tokenizer);
  const data::PreferencesConfig files{.files = {"x.jsonl"}};
  const auto of = [&](const std::vector<data::PreferenceRecord>& records, int64_t length = 20,
                      rewards::LongPrompts longer = rewards::LongPrompts::cut) {
    return paired(form, records, files, length, longer);
  };
  const PairData ranked =
      of({record_of(data::PreferenceKind::ranked, {"a", "b", "c", "d"}, {3, 1, 1, 2}),
          record_of(data::PreferenceKind::scored, {"e", "f"}, {0.5, 0.75})});
  EXPECT_EQ(indices(ranked), (Indices{{0, 1}, {0, 2}, {0, 3}, {3, 1}, {3, 2}, {5, 4}}));
  EXPECT_EQ(indices(of({record_of(data::PreferenceKind::best, {"a", "b", "c"}, {0, 1, 0})})),
            (Indices{{1, 0}, {1, 2}}));
  const PairData without = of({record_of(data::PreferenceKind::scored, {"a"}, {1}),
                               record_of(data::PreferenceKind::scored, {"a", "b"}, {1, 1})});
  EXPECT_EQ(without.without, 2);
  EXPECT_TRUE(without.pairs.pairs.empty());
  const std::string text = "ask";
  const rewards::AnswerSequence& first = ranked.pairs.answers.front();
  EXPECT_EQ(first.tokens, (std::vector<int32_t>{'a', 's', 'k', 'a', 256}));
  EXPECT_EQ(first.begin, 3);
  const std::vector<data::PreferenceRecord> longer{
      record_of(data::PreferenceKind::ranked, {"aaaa", "b"}, {1, 0}),
      record_of(data::PreferenceKind::ranked, {"aaaaaaa", "b"}, {1, 0})};
  const PairData cut = of(longer, 6);
  EXPECT_EQ(std::pair(cut.cut, cut.left_out), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(cut.pairs.answers.at(0).tokens, (std::vector<int32_t>{'k', 'a', 'a', 'a', 'a', 256}));
  EXPECT_EQ(cut.pairs.answers.at(1).tokens, (std::vector<int32_t>{'k', 'b', 256}))
      << "both lose the same of the prompt";
  EXPECT_EQ(cut.pairs.answers.at(1).begin, 1);
  EXPECT_EQ(of(longer, 6, rewards::LongPrompts::drop).left_out, 2);
  data::PreferenceRecord system = record_of(data::PreferenceKind::ranked, {"a", "b"}, {1, 0});
  system.prompt.insert(system.prompt.begin(), {"system", "be good"});
  test::expect_error(ExitCode::usage, {"x.jsonl:7", "system"}, [&] { of({system}); });
  testing::internal::CaptureStderr();
  const PairData most =
      paired(form, {system, record_of(data::PreferenceKind::ranked, {"a", "b"}, {1, 0})},
             {.files = {"x.jsonl"}, .bad_records = 1}, 20, rewards::LongPrompts::cut);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("left out: x.jsonl:7"), std::string::npos);
  EXPECT_EQ(std::pair(most.bad, most.pairs.pairs.size()), std::pair(int64_t{1}, size_t{1}));
  data::PreferenceRecord silent = record_of(data::PreferenceKind::ranked, {"a", "b"}, {1, 0});
  silent.prompt.front().content = "";
  test::expect_error(ExitCode::usage, {"x.jsonl:7", "no token", "none"}, [&] { of({silent}); });
}

TEST(DpoPairs, OfAnEmptyAnswerLearnItsEnd) {
  const auto tokenizer = text::byte_tokenizer();
  const text::ChatTemplate none("none", *tokenizer), trimming("plain", *tokenizer);
  const PairData data = paired(none, {record_of(data::PreferenceKind::ranked, {"", "b"}, {1, 0})},
                               {.files = {"x.jsonl"}}, 20, rewards::LongPrompts::cut);
  EXPECT_EQ(data.pairs.answers.at(0).tokens, (std::vector<int32_t>{'a', 's', 'k', 256}));
  EXPECT_EQ(data.pairs.answers.at(0).answer_tokens(), 1);
  const DpoSamples samples(data.pairs, 1, 0, 1, false);
  const data::Batch batch = samples.batch(0, 1);
  EXPECT_EQ(row_of(batch.tokens, 0), (std::vector<int32_t>{'a', 's', 'k', 'a', 's', 'k', 'b'}));
  EXPECT_EQ(row_of(batch.places, 0), (std::vector<int32_t>{2, 5, 6}));
  EXPECT_EQ(row_of(batch.targets, 0), (std::vector<int32_t>{256, 'b', 256}));
  const PairData white =
      paired(trimming, {record_of(data::PreferenceKind::ranked, {" \n", "b"}, {1, 0})},
             {.files = {"x.jsonl"}}, 60, rewards::LongPrompts::cut);
  EXPECT_EQ(white.pairs.answers.at(0).answer_tokens(), 1)
      << "white space is nothing to a template that trims";
  EXPECT_EQ(white.pairs.answers.at(0).tokens.back(), 256);
}

ModelConfig tiny() {
  ModelConfig config;
  config.vocab_size = 11;
  config.context = 8;
  config.d_model = 8;
  config.n_layers = 1;
  config.n_heads = 2;
  config.d_ff = 12;
  config.init_std = 0.3;
  return config;
}

// Two samples of up to 5 answer tokens, of which the reference holds something.
data::Batch known_batch(AnswerPairs pairs) {
  DpoSamples samples(std::move(pairs), 1, 0, 1, false);
  const Tensor reference = Tensor::zeros({2, samples.places(), 1}, DType::f32);
  for (int64_t i = 0; i < reference.size(); ++i)
    reference.data<float>()[i] = -2.2f + 0.3f * static_cast<float>(i % 4);
  samples.remember(reference);
  return placed(samples.batch(0, 2), {});
}

// A whole model in f64.
struct TinyPolicy {
  explicit TinyPolicy(const data::Batch& batch) {
    parameters.allocate(true);
    parameters.initialize(3);
    pass.tp = alone.get();
    pass.batch = &batch;
    pass.train = true;
    pass.sample_scale = 0.5;
  }

  // Against central differences.
  Losses expect_gradients(const DpoObjective& objective) {
    const auto loss = [&] {
      const NoGrad no_grad;
      const Losses made = objective.losses(model.forward({}, pass), pass);
      double sum = 0;
      for (int64_t i = 0; i < made.row_weights.size(); ++i)
        sum += made.rows.value().data<double>()[i] * made.row_weights.data<double>()[i];
      return sum;
    };
    Losses losses = objective.losses(model.forward({}, pass), pass);
    backward(losses.rows, losses.row_weights);
    for (const Parameter& p : parameters.all()) {
      if (p.tied()) continue;
      for (const Parameter& second : parameters.all())
        if (second.tied_to == p.name)
          for (int64_t i = 0; i < p.value.size(); ++i)
            p.gradient.data<double>()[i] += second.gradient.data<double>()[i];
      test::compare_with_differences(p.value, p.gradient, loss, 1e-6, p.name,
                                     std::max<int64_t>(1, p.value.size() / 7));
    }
    return losses;
  }

  Parameters parameters{DType::f64, 0, 1};
  Gpt model{tiny(), {0, 1, true, true, 0}, false, parameters};
  std::unique_ptr<Group> alone = single_rank();
  LossPass pass;
};

TEST(DpoObjective, HasTheGradientOfItsLoss) {
  const data::Batch batch = known_batch(two_pairs());
  for (const DpoRules& rules :
       {DpoRules{}, DpoRules{{0.7, 0.2}, 0.4}, DpoRules{{.beta = 0.4, .kind = DpoKind::ipo}, 0},
        DpoRules{{.beta = 0.4, .kind = DpoKind::ipo, .token_mean = true}, 0.3},
        DpoRules{{.beta = 2, .kind = DpoKind::simpo, .gamma = 0.5}, 0.2}}) {
    SCOPED_TRACE(name_of(rules.loss.kind));
    TinyPolicy policy(batch);
    const DpoObjective objective(policy.model, rules);
    const Losses losses = policy.expect_gradients(objective);
    ASSERT_EQ(losses.weights.size(), DpoObjective::terms(rules).size());
    ASSERT_EQ(losses.rows.value().size(), 2 * static_cast<int64_t>(losses.weights.size()));
    const Tensor told = objective.answers(policy.model.forward({}, policy.pass), policy.pass)[0];
    EXPECT_EQ(told.shape(), (Shape{2, 5, 1}));
    const double* terms = losses.rows.value().data<double>();
    const int64_t chosen = 2 * (static_cast<int64_t>(losses.weights.size()) - 2);
    EXPECT_NEAR(terms[chosen],
                told.data<float>()[0] + told.data<float>()[1] + told.data<float>()[2], 1e-5);
    EXPECT_NEAR(terms[chosen + 2], told.data<float>()[3] + told.data<float>()[4], 1e-5);
  }
}

// The reference plays no part, and answers count by their mean token.
TEST(DpoObjective, OfSimpoIsOfMeansAlone) {
  const data::Batch batch = known_batch(two_pairs());
  TinyPolicy policy(batch);
  const DpoRules rules{{.beta = 2, .kind = DpoKind::simpo, .gamma = 0.5}, 0};
  const Losses losses = policy.expect_gradients(DpoObjective(policy.model, rules));
  const double* terms = losses.rows.value().data<double>();
  const double chosen = terms[2 * 5] / 3, rejected = terms[2 * 6] / 2;
  EXPECT_NEAR(terms[0], std::log1p(std::exp(0.5 - 2 * (chosen - rejected))), 1e-12);
  EXPECT_NEAR(terms[2 * 3], 2 * chosen, 1e-12);
}

// Answers of 3 and 2 tokens, the first one desirable.
AnswerPairs two_alone() {
  AnswerPairs made = two_pairs();
  made.pairs = {{0, AnswerPairs::none}, {AnswerPairs::none, 3}};
  return made;
}

TEST(DpoObjective, OfKtoIsOfSingleAnswers) {
  const data::Batch batch = known_batch(two_alone());
  const DpoRules rules{{.beta = 0.4, .kind = DpoKind::kto, .desirable_weight = 1.5}, 0};
  const KtoPoint point{0.3, 0.5};
  TinyPolicy policy(batch);
  const Losses losses = policy.expect_gradients(DpoObjective(policy.model, rules, &point));
  const std::vector<train::Term> terms = DpoObjective::terms(rules);
  ASSERT_EQ(losses.weights.size(), terms.size());
  std::map<std::string, std::pair<double, double>> found;
  for (size_t i = 0; i < terms.size(); ++i) {
    const double* rows = losses.rows.value().data<double>() + 2 * i;
    found[terms[i].name] = {rows[0], rows[1]};
  }
  // Each kind is half of the samples, so that the mean over both samples is that over the kind.
  const double log_ratios[2] = {found["chosen_reward"].first / 2 / 0.4,
                                found["rejected_reward"].second / 2 / 0.4};
  EXPECT_NEAR(found["chosen_logp"].first / 2 - log_ratios[0], -2.2 - 1.9 - 1.6, 1e-6);
  EXPECT_EQ(found["chosen_logp"].second, 0);
  EXPECT_EQ(found["rejected_reward"].first, 0);
  EXPECT_NEAR(found["kto_loss"].first, kto_loss(log_ratios[0], true, 0.3, rules.loss).loss, 1e-12);
  EXPECT_NEAR(found["kto_loss"].second, kto_loss(log_ratios[1], false, 0.3, rules.loss).loss,
              1e-12);
  EXPECT_NEAR(found["reward_margin"].second, -found["rejected_reward"].second, 1e-12);
  EXPECT_EQ(found["reward_accuracy"].first, log_ratios[0] > 0.3);
  EXPECT_EQ(found["reward_accuracy"].second, log_ratios[1] < 0.3);
  EXPECT_EQ(found["reference_point"], std::pair(0.3, 0.3));
}

TEST(KtoSamples, HoldOneAnswerEach) {
  DpoSamples samples(two_alone(), 1, 0, 1, false);
  EXPECT_EQ(samples.places(), 3);
  const data::Batch batch = samples.batch(0, 2);
  EXPECT_EQ(row_of(batch.tokens, 1), (std::vector<int32_t>{8, 3, 0, 0}));
  EXPECT_EQ(row_of(batch.targets, 1), (std::vector<int32_t>{3, 10, 0}));
  EXPECT_EQ(batch.known.data<float>()[0], 0);
  EXPECT_EQ(batch.known.data<float>()[2 * 3], 1) << "undesirable";
  EXPECT_EQ(samples.chosen_among(0, 2), 1);
  EXPECT_EQ(samples.chosen_among(1, 1), 0);
  const Tensor reference = Tensor::from(std::vector<float>{-1, -2, -3, -4, -5, -6}, {2, 3, 1});
  samples.remember(reference);
  const float logps[] = {-1, -1, -1};
  EXPECT_EQ(samples.log_ratio(0, logps), 3);
  EXPECT_EQ(samples.log_ratio(1, logps), 7);
  EXPECT_EQ(samples.log_ratio(0, reference.data<float>()), 0);
  AnswerPairs other = two_alone();
  other.pairs = {{AnswerPairs::none, 0}, {AnswerPairs::none, 3}};
  EXPECT_NE(samples.checksum(), DpoSamples(other, 1, 0, 1, false).checksum())
      << "what is desirable is part of the samples";
}

TEST(KtoSamples, ArePairsTakenApart) {
  const AnswerPairs alone = taken_apart(two_pairs());
  ASSERT_EQ(alone.pairs.size(), 4u);
  EXPECT_EQ(alone.pairs[0].chosen, 0u);
  EXPECT_EQ(alone.pairs[0].rejected, AnswerPairs::none);
  EXPECT_EQ(alone.pairs[1].rejected, 1u);
  EXPECT_EQ(alone.pairs[2].chosen, 3u);
  EXPECT_EQ(alone.pairs[3].rejected, 2u);
  EXPECT_EQ(taken_apart(alone).pairs.size(), 4u) << "what is alone stays";
}

// Each prompt with the answer of another prompt, whatever the order.
TEST(KtoSamples, AreMismatchedWithOtherPrompts) {
  const AnswerPairs alone = taken_apart(two_pairs());
  for (const uint64_t seed : {1u, 2u, 3u}) {
    const AnswerPairs others = mismatched(alone, 8, seed);
    ASSERT_EQ(others.pairs.size(), 4u);
    for (size_t i = 0; i < 4; ++i) {
      const rewards::AnswerSequence& made = others.answers[others.pairs[i].chosen];
      const bool first = i < 2;
      const std::vector<int32_t> asked(made.tokens.begin(), made.tokens.begin() + made.begin),
          answer(made.tokens.begin() + made.begin, made.tokens.end());
      EXPECT_EQ(asked, first ? (std::vector<int32_t>{1, 2}) : std::vector<int32_t>{8});
      EXPECT_TRUE(first
                      ? answer == std::vector<int32_t>{9} || answer == std::vector<int32_t>({3, 10})
                      : answer == std::vector<int32_t>({3, 4, 5}) ||
                            answer == std::vector<int32_t>({6, 7}));
    }
  }
  const AnswerPairs cut = mismatched(
      {{{{1, 2, 3, 4}, 3}, {{8, 5, 6}, 1}}, {{0, AnswerPairs::none}, {AnswerPairs::none, 1}}}, 4,
      1);
  EXPECT_EQ(cut.answers[0].tokens, (std::vector<int32_t>{2, 3, 5, 6}))
      << "the prompt has lost its beginning";
  EXPECT_EQ(cut.answers[0].begin, 2);
  EXPECT_EQ(cut.answers[1].tokens, (std::vector<int32_t>{8, 4}));
  AnswerPairs same = two_pairs();
  same.pairs = {{0, 1}};
  test::expect_error(ExitCode::usage, {"all 2 answers are to the same prompt", "dpo.loss"},
                     [&] { mismatched(taken_apart(same), 8, 1); });
}

}  // namespace
}  // namespace skein::rlhf::dpo
