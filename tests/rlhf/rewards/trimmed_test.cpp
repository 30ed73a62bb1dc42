// What is learnt from rows of very different lengths does not know how far they are padded.
#include "skein/rlhf/rewards/preference_objective.h"
#include "skein/train/replica.h"

#include "rlhf/dpo_fixture.h"

namespace skein::rlhf::rewards {
namespace {

constexpr int64_t kContext = 96;

std::vector<int32_t> drawn_tokens(Chance& chance, int count) {
  std::vector<int32_t> made;
  for (int i = 0; i < count; ++i) made.push_back(1 + chance.below(60));
  return made;
}

// One answer in twelve is long.
int drawn_length(Chance& chance, int sample) { return sample % 12 == 3 ? 30 : 2 + chance.below(9); }

data::PreferenceSamples preferences(bool encoder) {
  Chance chance(4);
  std::vector<data::PreferenceSample> samples;
  for (int i = 0; i < 32; ++i) {
    data::PreferenceSample sample{data::PreferenceKind::ranked, {}, {}, {}};
    for (int k = 0; k < 2 + i % 2; ++k) {
      const std::vector<int32_t> tokens = drawn_tokens(chance, drawn_length(chance, i) - 1);
      sample.sequences.push_back({tokens,
                                  std::vector<int32_t>(tokens.size()),
                                  {encoder ? 0 : static_cast<int32_t>(tokens.size()) - 1}});
      sample.values.push_back(static_cast<float>(chance.below(100)) + 0.1f * static_cast<float>(k));
      sample.grades.push_back(0);
    }
    samples.push_back(std::move(sample));
  }
  const data::PreferenceBatchShape shape = shape_of(samples, 8, 0, encoder);
  return data::PreferenceSamples(std::move(samples), shape, 1, false);
}

dpo::AnswerPairs pairs() {
  Chance chance(5);
  dpo::AnswerPairs made;
  for (int i = 0; i < 32; ++i) {
    for (int side = 0; side < 2; ++side)
      made.answers.push_back({drawn_tokens(chance, 3 + drawn_length(chance, i)), 2});
    made.pairs.push_back({static_cast<size_t>(2 * i), static_cast<size_t>(2 * i + 1)});
  }
  return made;
}

train::PretrainConfig config_of(bool encoder, DType precision, double dropout) {
  train::PretrainConfig c = small_reward(encoder).run;
  c.model.vocab_size = 64;
  c.model.context = kContext;
  c.model.dropout = dropout;
  c.train.precision = precision;
  c.parallel.reduction_groups = 4;
  return c;
}

struct Learnt {
  std::vector<double> numbers;
  double tokens = 0;
  train::ReplicaMemory memory;
  std::map<std::string, std::vector<std::byte>> weights;
};

// Four steps of eight samples; told: whether batches say how long their rows are.
Learnt learn(const train::PretrainConfig& c, const data::SampleSource& samples,
             const train::Learning& learning, bool told) {
  const auto alone = single_rank();
  const MeshShape shape = mesh_shape(c.parallel, 1);
  Mesh mesh(*alone, shape);
  train::Replica replica(c, plan_batch(c.parallel, shape, 8, 2), mesh, learning);
  Learnt made;
  for (int64_t step = 0; step < 4; ++step) {
    data::Batch batch = samples.batch(step * 8, 8);
    if (!told) batch.lengths = {};
    const train::StepResult result = replica.step(batch, step, 1e-2);
    made.numbers.insert(made.numbers.end(), {result.loss, result.grad_norm});
    made.tokens += result.tokens;
  }
  made.memory = replica.memory();
  for (const Parameter& p : replica.model().parameters().all())
    made.weights[p.name].assign(p.value.bytes_data(), p.value.bytes_data() + p.value.bytes());
  return made;
}

void expect_same(const train::PretrainConfig& c, const data::SampleSource& samples,
                 const train::Learning& learning, const std::string& what) {
  const Learnt expected = learn(c, samples, learning, false),
               found = learn(c, samples, learning, true);
  EXPECT_EQ(found.numbers, expected.numbers) << what;
  EXPECT_EQ(train::first_difference(found.weights, expected.weights), "") << what;
  EXPECT_EQ(expected.tokens, static_cast<double>(32 * samples.batch(0, 1).length())) << what;
  EXPECT_LT(found.tokens, 0.75 * expected.tokens) << what;
  const data::Batch longest = samples.batch(0, 32);
  EXPECT_EQ(expected.memory.longest, longest.length());
  EXPECT_EQ(found.memory.longest, trimmed(longest, 8).length());
  EXPECT_DOUBLE_EQ(found.memory.activations * static_cast<double>(expected.memory.longest),
                   expected.memory.activations * static_cast<double>(found.memory.longest));
}

TEST(Trimmed, RewardModelsLearnTheSameBits) {
  for (const bool encoder : {false, true})
    for (const DType precision : {DType::f32, DType::bf16}) {
      train::PretrainConfig c = config_of(encoder, precision, 0.1);
      c.model.head = encoder ? Head::token : Head::sequence;
      c.model.labels = 1;
      const train::Learning learning{[](const LocalModel& model) {
        return std::make_unique<PreferenceObjective>(*model.scorer(), ops::PreferenceLossConfig{});
      }};
      expect_same(c, preferences(encoder), learning,
                  fmt::format("{} {}", encoder, name_of(precision)));
    }
}

TEST(Trimmed, PoliciesLearnTheSameBits) {
  for (const DType precision : {DType::f32, DType::bf16}) {
    const dpo::DpoSamples samples(pairs(), 8, 0, 1, false);
    const dpo::DpoRules rules{{0.1, 0.1}, 0.5};
    const train::Learning learning{[&](const LocalModel& model) {
                                     return std::make_unique<dpo::DpoObjective>(*model.predictor(),
                                                                                rules);
                                   },
                                   dpo::DpoObjective::terms(rules)};
    expect_same(config_of(false, precision, 0), samples, learning, std::string(name_of(precision)));
  }
}

}  // namespace
}  // namespace skein::rlhf::rewards
