// A stack of blocks that differ: the names and order of its tensors, what it computes, and its
// gradients.
#include "skein/nn/stack.h"

#include "skein/comm/local.h"

#include "nn/small_blocks.h"

namespace skein {
namespace {

using test::Family;
using test::kWidth;

constexpr int64_t kTargets = 3, kSources = 5;

// Two blocks that have nothing in common but their width.
std::vector<BlockSpec> two_kinds(NormPlacement placement) {
  BlockSpec narrow = test::small_block(Family::llama), wide = test::small_block(Family::decoder);
  narrow.placement = wide.placement = placement;
  std::get<AttentionSpec>(narrow.sublayers[0].branch).sight = {.kind = SightKind::window,
                                                               .window = 2};
  std::get<MlpSpec>(wide.sublayers[2].branch).hidden = 32;
  wide.sublayers[2].branch.swap(wide.sublayers[0].branch);
  return {narrow, wide};
}

struct Setting {
  std::unique_ptr<Group> alone = single_rank();
  data::Batch batch;
  Pass pass;

  Setting() {
    batch.tokens = Tensor::zeros({2, kTargets}, DType::i32);
    batch.positions = test::counted_positions(2, kTargets, {0, 0});
    batch.source.tokens = Tensor::zeros({2, kSources}, DType::i32);
    batch.source.segments =
        Tensor::from(std::vector<int32_t>{0, 0, 0, 0, -1, 0, 0, -1, -1, -1}, {2, kSources});
    pass.tp = alone.get();
    pass.batch = &batch;
  }
};

const Tensor& some_targets() {
  static const Tensor x = test::random_tensor({2, kTargets, kWidth}, 1);
  return x;
}
const Tensor& some_sources() {
  static const Tensor memory = test::random_tensor({2, kSources, kWidth}, 2);
  return memory;
}

TEST(Stack, NamesItsTensorsByBlockAndSublayer) {
  Parameters parameters(DType::f64, 0, 1);
  const Stack stack(parameters, 7, 1, two_kinds(NormPlacement::pre));
  std::vector<std::string> matrices, norms;
  for (const Parameter& p : parameters.all()) {
    if (p.shape.rank() == 2) matrices.push_back(p.name);
    if (p.name.ends_with("gain")) norms.push_back(p.name);
    const std::string& bucket = parameters.buckets().at(static_cast<size_t>(p.bucket)).name;
    EXPECT_TRUE(p.name.starts_with(bucket + ".")) << p.name << " in " << bucket;
    EXPECT_EQ(p.chunk, 1);
  }
  EXPECT_EQ(
      matrices,
      (std::vector<std::string>{
          "block.7.attention.q.weight", "block.7.attention.k.weight", "block.7.attention.v.weight",
          "block.7.attention.out.weight", "block.7.mlp.up.weight", "block.7.mlp.down.weight",
          "block.7.mlp.gate.weight", "block.8.mlp.up.weight", "block.8.mlp.down.weight",
          "block.8.memory.q.weight", "block.8.memory.k.weight", "block.8.memory.v.weight",
          "block.8.memory.out.weight", "block.8.attention.q.weight", "block.8.attention.k.weight",
          "block.8.attention.v.weight", "block.8.attention.out.weight"}));
  EXPECT_EQ(norms, (std::vector<std::string>{"block.7.norm_1.gain", "block.7.norm_2.gain",
                                             "block.8.norm_1.gain", "block.8.norm_memory.gain",
                                             "block.8.norm_2.gain"}));
  EXPECT_EQ(parameters.find("block.8.mlp.up.weight")->shape, (Shape{32, kWidth}));
}

// What one sublayer adds, made of single layers.
struct Alone {
  NormLayer norm;
  std::variant<Attention, Mlp> branch;

  static std::variant<Attention, Mlp> branch_of(Parameters& parameters, SublayerSpec spec,
                                                const std::string& block) {
    if (auto* attention = std::get_if<AttentionSpec>(&spec.branch)) {
      attention->name = block + attention->name;
      return Attention(parameters, *attention);
    }
    auto& mlp = std::get<MlpSpec>(spec.branch);
    mlp.name = block + mlp.name;
    return Mlp(parameters, mlp);
  }
  static NormSpec norm_of(NormSpec spec, const std::string& block) {
    spec.name = block + spec.name;
    return spec;
  }

  Alone(Parameters& parameters, const SublayerSpec& spec, const std::string& block)
      : norm(parameters, norm_of(spec.norm, block)), branch(branch_of(parameters, spec, block)) {}

  Var added(const Var& x, const Var& memory, const Pass& pass) const {
    if (const auto* attention = std::get_if<Attention>(&branch))
      return (*attention)(x, {memory, {}}, pass);
    return std::get<Mlp>(branch)(x, pass);
  }
};

TEST(Stack, DoesWhatItsSublayersDoOneByOne) {
  for (NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
    const std::vector<BlockSpec> specs = two_kinds(placement);
    const Setting run;
    Parameters parameters(DType::f64, 0, 1), own(DType::f64, 0, 1);
    const Stack stack(parameters, 0, 0, specs);
    std::vector<Alone> layers;
    for (size_t block = 0; block < specs.size(); ++block)
      for (const SublayerSpec& spec : specs[block].sublayers)
        layers.emplace_back(own, spec, fmt::format("block.{}.", block));
    test::initialize_all(parameters, false);
    test::initialize_all(own, false);
    const NoGrad no_grad;
    const Var memory(some_sources());
    Var x(some_targets());
    for (const Alone& layer : layers)
      x = placement == NormPlacement::pre
              ? ops::add(x, layer.added(layer.norm(x), memory, run.pass))
              : layer.norm(ops::add(x, layer.added(x, memory, run.pass)));
    EXPECT_EQ(test::bytes_of(stack(Var(some_targets()), run.pass, {memory, {}}).value()),
              test::bytes_of(x.value()));
  }
}

TEST(Stack, HasTheGradientsOfItsDifferences) {
  for (NormPlacement placement : {NormPlacement::pre, NormPlacement::post})
    for (Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
      Setting run;
      run.pass.recompute = recompute;
      Parameters parameters(DType::f64, 0, 1);
      const Stack stack(parameters, 0, 0, two_kinds(placement));
      test::initialize_all(parameters, true);
      const Var x = Var::leaf(some_targets().clone()), memory = Var::leaf(some_sources().clone());
      const Tensor upstream = test::random_tensor(some_targets().shape(), 9);
      backward(stack(x, run.pass, {memory, {}}), upstream.clone());
      const auto loss = [&] {
        const NoGrad no_grad;
        const Tensor y = stack(x, run.pass, {memory, {}}).value();
        double sum = 0;
        for (int64_t i = 0; i < y.size(); ++i)
          sum += y.data<double>()[i] * upstream.data<double>()[i];
        return sum;
      };
      test::compare_with_differences(x.value(), x.gradient(), loss, 1e-6, "x", 5);
      test::compare_with_differences(memory.value(), memory.gradient(), loss, 1e-6, "memory", 5);
      for (const Parameter& p : parameters.all())
        test::compare_with_differences(p.value, p.gradient, loss, 1e-6, p.name, 37);
    }
}

// Gradients of x and of a memory that each of two blocks looks at twice.
std::pair<std::vector<std::byte>, std::vector<std::byte>> gradients(Recompute recompute) {
  BlockSpec block = test::small_block(Family::decoder);
  SublayerSpec again = block.sublayers[1];
  again.norm.name = "norm_again";
  std::get<AttentionSpec>(again.branch).name = "again";
  block.sublayers.push_back(again);
  Setting run;
  run.pass.recompute = recompute;
  Parameters parameters(DType::f32, 0, 1);
  const Stack stack(parameters, 0, 0, std::vector<BlockSpec>(2, block));
  test::initialize_all(parameters, true);
  const Var x = Var::leaf(some_targets().to(DType::f32)),
            memory = Var::leaf(some_sources().to(DType::f32));
  backward(stack(x, run.pass, {memory, {}}),
           test::random_tensor(some_targets().shape(), 9, DType::f32));
  return {test::bytes_of(x.gradient()), test::bytes_of(memory.gradient())};
}

TEST(Stack, AddsGradientsOfAMemoryInOneOrderHoweverMuchIsRecomputed) {
  const auto expected = gradients(Recompute::none);
  for (Recompute recompute : {Recompute::selective, Recompute::full})
    EXPECT_EQ(gradients(recompute), expected);
}

struct PartlyFrozen {
  Setting run;
  Parameters parameters{DType::f64, 0, 1};
  Stack stack;

  explicit PartlyFrozen(const std::function<bool(const Parameter&)>& frozen)
      : stack(parameters, 0, 0, two_kinds(NormPlacement::pre)) {
    parameters.freeze(frozen);
    test::initialize_all(parameters, true);
  }
};

TEST(Stack, KeepsNothingOfFrozenBlocksAheadOfTheFirstThatLearns) {
  const PartlyFrozen first([](const Parameter& p) { return p.part.block_number == 0; });
  backward(first.stack(Var(some_targets()), first.run.pass, {Var(some_sources()), {}}),
           test::random_tensor(some_targets().shape(), 9));
  for (const Parameter& p : first.parameters.all())
    EXPECT_EQ(p.gradient.defined(), p.name.starts_with("block.1.")) << p.name;
  const PartlyFrozen all([](const Parameter&) { return true; });
  const Var memory = Var::leaf(some_sources()), plain(some_sources());
  EXPECT_FALSE(all.stack(Var(some_targets()), all.run.pass, {plain, {}}).needs_gradient());
  const Var y = all.stack(Var(some_targets()), all.run.pass, {memory, {}});
  ASSERT_TRUE(y.needs_gradient()) << "the memory was made by something that learns";
  backward(y, test::random_tensor(some_targets().shape(), 9));
  EXPECT_TRUE(memory.gradient().defined());
}

}  // namespace
}  // namespace skein
