// Layers over tensor-parallel ranks are the same function as on one, with the same start values;
// gradients too.
#include <map>
#include <mutex>

#include "skein/comm/local.h"

#include "nn/small_blocks.h"

namespace skein {
namespace {

using Gathered = std::map<std::string, std::vector<double>>;

using test::Family;

data::Batch small_batch() {
  data::Batch batch;
  batch.tokens = Tensor::zeros({2, 4}, DType::i32);
  batch.positions = test::counted_positions(2, 4, {0, 0});
  batch.segments = Tensor::from(std::vector<int32_t>{0, 0, 0, 1, 0, 1, 1, 1}, {2, 4});
  batch.sample_ids = Tensor::from(std::vector<int64_t>{6, 3}, {2});
  batch.source.tokens = Tensor::zeros({2, 8}, DType::i32);
  batch.source.segments =
      Tensor::from(std::vector<int32_t>{0, 0, 0, 1, 1, 1, -1, -1, 0, 1, 0, 0, 1, 1, 1, 1}, {2, 8});
  return batch;
}

// Puts a part into the whole tensor.
void put(const Parameter& p, const Tensor& part, std::vector<double>& whole) {
  whole.resize(static_cast<size_t>(p.shape.size()));
  const auto start = p.box_start(), extent = p.box_extent();
  const bool matrix = p.shape.rank() > 1;
  const int64_t columns = matrix ? p.shape[1] : 1, width = matrix ? extent[1] : 1,
                first = matrix ? start[1] : 0;
  for (int64_t r = 0; r < extent[0]; ++r)
    for (int64_t c = 0; c < width; ++c)
      whole[static_cast<size_t>((start[0] + r) * columns + first + c)] =
          part.data<double>()[r * (matrix ? p.local[1] : 1) + c];
}

// Output, input gradient, start values and gradients of two blocks, all whole.
Gathered run(int shards, bool sequence_parallel, Family family, double dropout,
             Recompute recompute) {
  Gathered all;
  std::mutex one;
  run_ranks(shards, [&](Group& tp) {
    Parameters parameters(DType::f64, tp.rank(), shards);
    const Stack stack(parameters, 0, 0, test::small_blocks(family, sequence_parallel, dropout));
    test::initialize_all(parameters, true);
    const data::Batch batch = small_batch();
    Pass pass;
    pass.tp = &tp;
    pass.sequence_parallel = sequence_parallel;
    pass.train = true;
    pass.seed = 4;
    pass.batch = &batch;
    pass.recompute = recompute;
    // This rank's part of x [2,n,16].
    const auto slice = [&](const Tensor& x) {
      const int64_t length = x.dim(1), part = sequence_parallel ? length / shards : length,
                    from = sequence_parallel ? part * tp.rank() : 0;
      const Tensor own = Tensor::empty({2, part, 16}, DType::f64);
      for (int64_t b = 0; b < 2; ++b)
        own.flat(b * part * 16, part * 16).copy_from(x.flat((b * length + from) * 16, part * 16));
      return own;
    };
    const Var x = Var::leaf(slice(test::random_tensor({2, 4, 16}, 1)));
    Var memory;
    if (family == Family::decoder) memory = Var::leaf(slice(test::random_tensor({2, 8, 16}, 3)));
    const Var y = stack(x, pass, {memory, {}});
    std::vector<std::pair<std::string, Tensor>> made{{"output", y.value().clone()}};
    backward(y, slice(test::random_tensor({2, 4, 16}, 2)));
    made.emplace_back("input gradient", x.gradient());
    if (memory.defined()) made.emplace_back("memory gradient", memory.gradient());
    for (const Parameter& p : parameters.all())
      if (p.sum_over_shards) tp.all_reduce_sum(p.gradient).wait();
    const std::lock_guard hold(one);
    for (const auto& [name, tensor] : made) {
      const int64_t part = tensor.dim(1), length = sequence_parallel ? part * shards : part,
                    from = sequence_parallel ? part * tp.rank() : 0;
      all[name].resize(static_cast<size_t>(2 * length * 16));
      for (int64_t b = 0; b < 2; ++b)
        std::copy_n(tensor.data<double>() + b * part * 16, part * 16,
                    all[name].begin() + (b * length + from) * 16);
    }
    for (const Parameter& p : parameters.all()) {
      put(p, p.value, all["value " + p.name]);
      put(p, p.gradient, all["gradient " + p.name]);
    }
  });
  return all;
}

class Shards : public testing::TestWithParam<std::tuple<Family, double>> {};

TEST_P(Shards, GiveTheSameFunctionAndGradients) {
  const auto [family, dropout] = GetParam();
  const Gathered expected = run(1, false, family, dropout, Recompute::none);
  for (int shards : {2, 4})
    for (bool sequence_parallel : {false, true})
      for (Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        const Gathered found = run(shards, sequence_parallel, family, dropout, recompute);
        ASSERT_EQ(found.size(), expected.size());
        for (const auto& [name, values] : expected)
          for (size_t i = 0; i < values.size(); ++i) {
            if (name.starts_with("value"))
              EXPECT_EQ(found.at(name)[i], values[i]) << name;
            else
              ASSERT_NEAR(found.at(name)[i], values[i], 1e-11)
                  << name << " " << i << " shards " << shards << sequence_parallel;
          }
      }
}

INSTANTIATE_TEST_SUITE_P(Families, Shards,
                         testing::Combine(testing::Values(Family::gpt2, Family::post_norm,
                                                          Family::llama, Family::decoder,
                                                          Family::qwen, Family::parallel,
                                                          Family::gemma),
                                          testing::Values(0.0, 0.3)));

TEST(Recomputing, GivesTheSameBits) {
  for (Family family : {Family::post_norm, Family::llama, Family::decoder}) {
    const Gathered expected = run(1, false, family, 0.3, Recompute::none);
    for (Recompute recompute : {Recompute::selective, Recompute::full})
      EXPECT_EQ(run(1, false, family, 0.3, recompute), expected);
  }
}

TEST(StartValues, DoNotDependOnShardsWhereTheVocabularyDoesNotDivide) {
  std::vector<std::vector<double>> found;
  for (int shards : {1, 2, 4, 8}) {
    auto& whole = found.emplace_back();
    for (int shard = 0; shard < shards; ++shard) {
      Parameters parameters(DType::f64, shard, shards);
      parameters.enter("e", 0);
      const Parameter& p = parameters.add({"table", {11, 3}, Split::vocab, {Start::normal, 0.02}});
      parameters.allocate(false);
      parameters.initialize(5);
      put(p, p.value, whole);
      for (int64_t i = p.valid_size(); i < p.value.size(); ++i)
        EXPECT_EQ(p.value.data<double>()[i], 0) << "padding";
    }
    EXPECT_EQ(whole, found.front()) << shards;
  }
}

}  // namespace
}  // namespace skein
