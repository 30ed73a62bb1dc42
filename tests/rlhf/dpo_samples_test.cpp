// What a row of a pair holds, which pairs records give, and the gradient of what is learnt from them.
#include "support/gradient_check.h"

#include "data/data_fixtures.h"
#include "skein/comm/local.h"
#include "skein/rlhf/dpo_task.h"

namespace skein {
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
  const Batch batch = samples.batch(0, 2);
  EXPECT_EQ(row_of(batch.tokens, 0), (std::vector<int32_t>{1, 2, 3, 4, 1, 2, 6, 0}));
  EXPECT_EQ(row_of(batch.positions, 0), (std::vector<int32_t>{0, 1, 2, 3, 0, 1, 2, 0}));
  EXPECT_EQ(row_of(batch.segments, 0), (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, -1}));
  EXPECT_EQ(row_of(batch.places, 0), (std::vector<int32_t>{1, 2, 3, 5, 6}));
  EXPECT_EQ(row_of(batch.targets, 0), (std::vector<int32_t>{3, 4, 5, 6, 7}));
  EXPECT_EQ(row_of(batch.places, 1), (std::vector<int32_t>{0, 1, 2, -1, -1}));
  EXPECT_EQ(row_of(batch.targets, 1), (std::vector<int32_t>{3, 10, 9, 0, 0}));
  const std::vector<float> weights(batch.weights.span<float>().begin(), batch.weights.span<float>().end());
  EXPECT_EQ(weights, (std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}));
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(batch.known.data<float>()[2 * i], i == 3 || i == 4 || i == 7) << i;
}

TEST(DpoSamples, RemembersTheReferenceInAnyOrder) {
  AnswerPairs pairs = two_pairs();
  for (int i = 0; i < 6; ++i) pairs.pairs.push_back(pairs.pairs[static_cast<size_t>(i % 2)]);
  DpoSamples samples(pairs, 1, 0, 3, true);
  const Batch before = samples.batch(0, 8);
  const Tensor logps = Tensor::zeros({8, 5, 2}, DType::f32);
  for (int64_t i = 0; i < 40; ++i) logps.data<float>()[2 * i] = static_cast<float>(-i - 1);
  samples.remember(logps);
  const Batch after = samples.batch(0, 8), next = samples.batch(8, 8);
  double sum = 0;
  for (int64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(before.known.data<float>()[2 * i + 1], 0);
    EXPECT_EQ(after.known.data<float>()[2 * i + 1], after.weights.data<float>()[i] > 0 ? -i - 1 : 0) << i;
    sum += after.known.data<float>()[2 * i + 1];
  }
  double again = 0, of_pairs = 0;
  for (int64_t i = 0; i < 40; ++i) again += next.known.data<float>()[2 * i + 1];
  for (int64_t pair = 0; pair < 8; ++pair) of_pairs += samples.reference(pair).ref_chosen + samples.reference(pair).ref_rejected;
  EXPECT_EQ(again, sum) << "the next epoch has the same pairs";
  EXPECT_EQ(of_pairs, sum);
  EXPECT_NEAR(samples.mean_reference(), sum / (4 * 5 + 4 * 3), 1e-12);
  EXPECT_NE(samples.checksum(), DpoSamples(two_pairs(), 1, 0, 3, true).checksum());
}

PreferenceRecord record_of(PreferenceKind kind, std::vector<std::string> answers, std::vector<double> values) {
  PreferenceRecord made;
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

TEST(DpoPairs, AreAllOfWhichOneIsBetter) {
  const auto tokenizer = byte_tokenizer();
  const ChatTemplate form("none", *tokenizer);
  const PreferencesConfig files{.files = {"x.jsonl"}};
  const auto of = [&](const std::vector<PreferenceRecord>& records, int64_t length = 20, LongPrompts longer = LongPrompts::cut) { return paired(form, records, files, length, longer); };
  const PairData ranked = of({record_of(PreferenceKind::ranked, {"a", "b", "c", "d"}, {3, 1, 1, 2}), record_of(PreferenceKind::scored, {"e", "f"}, {0.5, 0.75})});
  EXPECT_EQ(indices(ranked), (Indices{{0, 1}, {0, 2}, {0, 3}, {3, 1}, {3, 2}, {5, 4}}));
  EXPECT_EQ(indices(of({record_of(PreferenceKind::best, {"a", "b", "c"}, {0, 1, 0})})), (Indices{{1, 0}, {1, 2}}));
  const PairData without = of({record_of(PreferenceKind::scored, {"a"}, {1}), record_of(PreferenceKind::scored, {"a", "b"}, {1, 1})});
  EXPECT_EQ(without.without, 2);
  EXPECT_TRUE(without.pairs.pairs.empty());
  const std::string text = "ask";
  const AnswerSequence& first = ranked.pairs.answers.front();
  EXPECT_EQ(first.tokens, (std::vector<int32_t>{'a', 's', 'k', 'a', 256}));
  EXPECT_EQ(first.begin, 3);
  const std::vector<PreferenceRecord> longer{record_of(PreferenceKind::ranked, {"aaaa", "b"}, {1, 0}), record_of(PreferenceKind::ranked, {"aaaaaaa", "b"}, {1, 0})};
  const PairData cut = of(longer, 6);
  EXPECT_EQ(std::pair(cut.cut, cut.left_out), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(cut.pairs.answers.at(0).tokens, (std::vector<int32_t>{'k', 'a', 'a', 'a', 'a', 256}));
  EXPECT_EQ(cut.pairs.answers.at(1).tokens, (std::vector<int32_t>{'k', 'b', 256})) << "both lose the same of the prompt";
  EXPECT_EQ(cut.pairs.answers.at(1).begin, 1);
  EXPECT_EQ(of(longer, 6, LongPrompts::drop).left_out, 2);
  PreferenceRecord system = record_of(PreferenceKind::ranked, {"a", "b"}, {1, 0});
  system.prompt.insert(system.prompt.begin(), {"system", "be good"});
  test::expect_error(ExitCode::usage, {"x.jsonl:7", "system"}, [&] { of({system}); });
  testing::internal::CaptureStderr();
  const PairData most = paired(form, {system, record_of(PreferenceKind::ranked, {"a", "b"}, {1, 0})}, {.files = {"x.jsonl"}, .bad_records = 1}, 20, LongPrompts::cut);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("left out: x.jsonl:7"), std::string::npos);
  EXPECT_EQ(std::pair(most.bad, most.pairs.pairs.size()), std::pair(int64_t{1}, size_t{1}));
  PreferenceRecord silent = record_of(PreferenceKind::ranked, {"a", "b"}, {1, 0});
  silent.prompt.front().content = "";
  test::expect_error(ExitCode::usage, {"x.jsonl:7", "no token", "none"}, [&] { of({silent}); });
}

TEST(DpoPairs, OfAnEmptyAnswerLearnItsEnd) {
  const auto tokenizer = byte_tokenizer();
  const ChatTemplate none("none", *tokenizer), trimming("plain", *tokenizer);
  const PairData data = paired(none, {record_of(PreferenceKind::ranked, {"", "b"}, {1, 0})},
                               {.files = {"x.jsonl"}}, 20, LongPrompts::cut);
  EXPECT_EQ(data.pairs.answers.at(0).tokens, (std::vector<int32_t>{'a', 's', 'k', 256}));
  EXPECT_EQ(data.pairs.answers.at(0).answer_tokens(), 1);
  const DpoSamples samples(data.pairs, 1, 0, 1, false);
  const Batch batch = samples.batch(0, 1);
  EXPECT_EQ(row_of(batch.tokens, 0), (std::vector<int32_t>{'a', 's', 'k', 'a', 's', 'k', 'b'}));
  EXPECT_EQ(row_of(batch.places, 0), (std::vector<int32_t>{2, 5, 6}));
  EXPECT_EQ(row_of(batch.targets, 0), (std::vector<int32_t>{256, 'b', 256}));
  const PairData white = paired(trimming, {record_of(PreferenceKind::ranked, {" \n", "b"}, {1, 0})},
                                {.files = {"x.jsonl"}}, 60, LongPrompts::cut);
  EXPECT_EQ(white.pairs.answers.at(0).answer_tokens(), 1)
      << "white space is nothing to a template that trims";
  EXPECT_EQ(white.pairs.answers.at(0).tokens.back(), 256);
}

// Of the whole model in f64, against central differences.
TEST(DpoObjective, HasTheGradientOfItsLoss) {
  ModelConfig config;
  config.vocab_size = 11;
  config.context = 8;
  config.d_model = 8;
  config.n_layers = 1;
  config.n_heads = 2;
  config.d_ff = 12;
  config.init_std = 0.3;
  DpoSamples samples(two_pairs(), 1, 0, 1, false);
  const Tensor reference = Tensor::zeros({2, 5, 1}, DType::f32);
  for (int64_t i = 0; i < 10; ++i) reference.data<float>()[i] = -2.2f + 0.3f * static_cast<float>(i % 4);
  samples.remember(reference);
  const Batch batch = placed(samples.batch(0, 2), {});
  const auto alone = single_rank();
  for (const DpoRules& rules : {DpoRules{}, DpoRules{{0.7, 0.2}, 0.4}}) {
    Parameters parameters(DType::f64, 0, 1);
    const Gpt model(config, {0, 1, true, true, 0}, false, parameters);
    parameters.allocate(true);
    parameters.initialize(3);
    const DpoObjective objective(model, rules);
    Pass pass;
    pass.tp = alone.get();
    pass.batch = &batch;
    pass.train = true;
    pass.sample_scale = 0.5;
    const auto loss = [&] {
      const NoGrad no_grad;
      const Losses made = objective.losses(model.forward({}, pass), pass);
      double sum = 0;
      for (int64_t i = 0; i < made.row_weights.size(); ++i) sum += made.rows.value().data<double>()[i] * made.row_weights.data<double>()[i];
      return sum;
    };
    const Losses losses = objective.losses(model.forward({}, pass), pass);
    ASSERT_EQ(losses.weights.size(), DpoObjective::terms(rules).size());
    ASSERT_EQ(losses.rows.value().size(), 2 * static_cast<int64_t>(losses.weights.size()));
    backward(losses.rows, losses.row_weights);
    for (const Parameter& p : parameters.all()) {
      if (p.tied()) continue;
      for (const Parameter& second : parameters.all())
        if (second.tied_to == p.name)
          for (int64_t i = 0; i < p.value.size(); ++i) p.gradient.data<double>()[i] += second.gradient.data<double>()[i];
      test::compare_with_differences(p.value, p.gradient, loss, 1e-6, p.name, std::max<int64_t>(1, p.value.size() / 7));
    }
    const Tensor told = objective.answers(model.forward({}, pass), pass)[0];
    EXPECT_EQ(told.shape(), (Shape{2, 5, 1}));
    const double* terms = losses.rows.value().data<double>();
    const int64_t chosen = 2 * (static_cast<int64_t>(losses.weights.size()) - 2);
    EXPECT_NEAR(terms[chosen], told.data<float>()[0] + told.data<float>()[1] + told.data<float>()[2], 1e-5);
    EXPECT_NEAR(terms[chosen + 2], told.data<float>()[3] + told.data<float>()[4], 1e-5);
  }
}

}  // namespace
}  // namespace skein
