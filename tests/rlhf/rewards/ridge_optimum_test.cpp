// With a frozen trunk the pairwise loss and its ridge are convex in the head: there is one optimum,
// and training must land on it.
#include "skein/checkpoint/parameters.h"
#include "skein/models/pooled.h"
#include "skein/train/judge.h"

#include "rlhf/reward_model_fixture.h"

namespace skein::rlhf::rewards {
namespace {

using Vector = std::vector<double>;
using Json = nlohmann::json;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// x of matrix x = right, by elimination with the largest pivot.
Vector solved(std::vector<Vector> matrix, Vector right) {
  const size_t n = right.size();
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column; row < n; ++row)
      if (std::abs(matrix[row][column]) > std::abs(matrix[pivot][column])) pivot = row;
    std::swap(matrix[pivot], matrix[column]);
    std::swap(right[pivot], right[column]);
    for (size_t row = 0; row < n; ++row) {
      if (row == column) continue;
      const double factor = matrix[row][column] / matrix[column][column];
      for (size_t k = column; k < n; ++k) matrix[row][k] -= factor * matrix[column][k];
      right[row] -= factor * right[column];
    }
  }
  for (size_t i = 0; i < n; ++i) right[i] /= matrix[i][i];
  return right;
}

// The w with the least mean of log(1 + e^-(w · difference)) plus ridge |w|², by Newton's method.
Vector optimum(const std::vector<Vector>& differences, double ridge) {
  const size_t n = differences.front().size();
  Vector w(n);
  for (int step = 0; step < 50; ++step) {
    Vector gradient(n);
    std::vector<Vector> curvature(n, Vector(n));
    for (size_t i = 0; i < n; ++i) gradient[i] = 2 * ridge * w[i], curvature[i][i] = 2 * ridge;
    for (const Vector& difference : differences) {
      const double wrong = 1 / (1 + std::exp(dot(w, difference))),
                   share = 1 / static_cast<double>(differences.size());
      for (size_t i = 0; i < n; ++i) {
        gradient[i] -= share * wrong * difference[i];
        for (size_t k = 0; k < n; ++k)
          curvature[i][k] += share * wrong * (1 - wrong) * difference[i] * difference[k];
      }
    }
    const Vector move = solved(curvature, gradient);
    for (size_t i = 0; i < n; ++i) w[i] -= move[i];
  }
  return w;
}

double value_at(const Vector& w, const std::vector<Vector>& differences, double ridge) {
  double value = ridge * dot(w, w);
  for (const Vector& difference : differences)
    value += std::log1p(std::exp(-dot(w, difference))) / static_cast<double>(differences.size());
  return value;
}

// Pairs of which many are judged both ways.
void write_contradictions(const std::string& path) {
  Chance chance(4);
  std::ofstream file(path);
  const char* const answers[] = {"a", "b", "cc", "d e", "fa", "ab c"};
  for (int i = 0; i < 24; ++i) {
    const int first = chance.below(6), second = (first + 1 + chance.below(5)) % 6;
    file
        << Json{{"prompt", "ask"}, {"chosen", answers[first]}, {"rejected", answers[second]}}.dump()
        << '\n';
  }
}

// What the frozen trunk of a run makes of the better answers less what it makes of the worse ones.
std::vector<Vector> differences_in(const std::string& run, const ModelConfig& model,
                                   const std::vector<data::PreferenceSample>& samples) {
  std::vector<Vector> differences;
  run_ranks(1, [&](Group& world) {
    Mesh mesh(world, {1, 1, 1});
    LocalModel local(model, {}, mesh, DType::f32);
    load_weights(*checkpoint::find_checkpoint(run, world), local.parameters(), world);
    const PoolingObjective last(Pool::last);
    PipelineModel pieces = local.pipeline_model();
    pieces.objective = &last;
    Pipeline pipeline(mesh, pieces, ScheduleKind::gpipe);
    std::vector<data::PreferenceSample> single;
    for (const data::PreferenceSample& sample : samples)
      for (const data::FormedSample& sequence : sample.sequences)
        single.push_back({data::PreferenceKind::none, {sequence}, {0}, {0}});
    const auto count = static_cast<int64_t>(single.size()), width = model.d_model;
    const data::PreferenceBatchShape shape = shape_of(single, 8, 0, false);
    const data::PreferenceSamples source(std::move(single), shape, 0, false);
    const Tensor features =
        train::all_answers({pipeline, local.pass(), mesh, 4}, source, count, 1, width);
    for (int64_t i = 0; i < count; i += 2) {
      Vector& difference = differences.emplace_back();
      for (int64_t k = 0; k < width; ++k)
        difference.push_back(features.data<float>()[i * width + k] -
                             features.data<float>()[(i + 1) * width + k]);
    }
  });
  return differences;
}

TEST(RidgeOptimum, IsWhereTheHeadLands) {
  const test::Scratch folder;
  write_contradictions(folder.file("train.jsonl"));
  RewardConfig c = small_reward();
  c.run.model.d_model = 8;
  c.run.model.init_std = 0.5;
  c.run.data.train = {folder.file("train.jsonl")};
  c.run.train.global_batch = 24;
  c.run.train.micro_batch = 24;
  c.run.parallel.reduction_groups = 1;
  c.run.train.steps = 1200;
  c.run.train.frozen_layers = 2;
  c.run.lr.lr = 0.05;
  c.run.optimizer.clip = 0;
  c.task.reference_samples = 0;
  for (double ridge : {0.003, 0.05}) {
    c.run.optimizer.ridge = ridge;
    const std::string name = fmt::format("ridge{}", ridge);
    const Trained trained = train_reward(c, folder, 1, name);
    RewardConfig own = c;
    RewardTask task(own, text::byte_tokenizer(), {});
    const std::vector<Vector> differences =
        differences_in(folder.file(name), own.run.model, task.samples().all());
    ASSERT_EQ(differences.size(), 24u);
    const Vector wanted = optimum(differences, ridge);
    const auto& bytes = trained.state.at("param/classifier.weight");
    ASSERT_EQ(bytes.size(), 8 * sizeof(float));
    const auto* found = reinterpret_cast<const float*>(bytes.data());
    for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4) << ridge << " " << i;
    EXPECT_GT(std::sqrt(dot(wanted, wanted)), 0.1) << "the problem says something";
    EXPECT_NEAR(trained.losses.back(), value_at(wanted, differences, ridge), 1e-6);
  }
}

}  // namespace
}  // namespace skein::rlhf::rewards
