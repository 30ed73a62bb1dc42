// A prompt at once and then one position at a time, with a cache, is the same as the whole sequence
// without.
#include <numeric>

#include "skein/comm/local.h"

#include "nn/small_blocks.h"

namespace skein {
namespace {

using test::Family;
using test::kWidth;

constexpr int64_t kLength = 7, kPrompt = 4;
const std::vector<int32_t> kFirst{0, 2};  // where each sequence begins

// Columns [from, to) of x [B,T,C].
Tensor columns(const Tensor& x, int64_t from, int64_t to) {
  const int64_t rows = x.dim(0), length = x.dim(1), part = (to - from) * kWidth;
  const Tensor made = Tensor::empty({rows, to - from, kWidth}, x.dtype());
  for (int64_t row = 0; row < rows; ++row)
    made.flat(row * part, part).copy_from(x.flat((row * length + from) * kWidth, part));
  return made;
}

Tensor forward(const Stack& stack, const Tensor& x, const Tensor& positions, Group& tp,
               KvCache* cache) {
  data::Batch batch;
  batch.positions = positions;
  batch.tokens = Tensor::zeros(positions.shape(), DType::i32);
  Pass pass;
  pass.tp = &tp;
  pass.batch = &batch;
  pass.cache = cache;
  const NoGrad no_grad;
  return stack(Var(x), pass).value();
}

KvCache empty_cache(int shards, const BlockSpec& block) {
  const auto& attention = std::get<AttentionSpec>(block.sublayers[0].branch);
  KvCache cache;
  const Shape shape{2, kLength, attention.kv_heads / shards, attention.head_width};
  for (int block = 0; block < 2; ++block)
    cache.layers.push_back({Tensor::empty(shape, DType::f64), Tensor::empty(shape, DType::f64)});
  cache.first_key = Tensor::from(kFirst, {2});
  return cache;
}

// Outputs of the prompt, then of each position after it.
std::vector<Tensor> decoded(const Stack& stack, const Tensor& x, KvCache& cache, Group& tp) {
  const Tensor positions = test::counted_positions(2, kLength, kFirst);
  std::vector<Tensor> made;
  for (int64_t from = 0; from < kLength; from = cache.length) {
    const int64_t to = from == 0 ? kPrompt : from + 1;
    const Tensor own = Tensor::empty({2, to - from}, DType::i32);
    for (int64_t row = 0; row < 2; ++row)
      own.flat(row * (to - from), to - from)
          .copy_from(positions.flat(row * kLength + from, to - from));
    made.push_back(forward(stack, columns(x, from, to), own, tp, &cache));
    cache.length = to;
  }
  return made;
}

// One sequence alone, without the padding before it and without a cache.
Tensor whole(const Stack& stack, const Tensor& x, int64_t row, Group& tp) {
  const int64_t first = kFirst[static_cast<size_t>(row)];
  const Tensor own = columns(x.rows(row, row + 1), first, kLength);
  return forward(stack, own, test::counted_positions(1, kLength - first, {0}), tp, nullptr);
}

void compare(Family family, const SightSpec& sight, Group& tp) {
  Parameters parameters(DType::f64, tp.rank(), tp.size());
  std::vector<BlockSpec> blocks = test::small_blocks(family);
  for (BlockSpec& block : blocks) std::get<AttentionSpec>(block.sublayers[0].branch).sight = sight;
  const Stack stack(parameters, 0, 0, blocks);
  test::initialize_all(parameters, false);
  const Tensor x = test::random_tensor({2, kLength, kWidth}, 1);
  KvCache cache = empty_cache(tp.size(), blocks[0]);
  const std::vector<Tensor> parts = decoded(stack, x, cache, tp);
  ASSERT_EQ(parts.size(), static_cast<size_t>(1 + kLength - kPrompt));
  for (int64_t row = 0; row < 2; ++row) {
    const Tensor expected = whole(stack, x, row, tp);
    const int64_t first = kFirst[static_cast<size_t>(row)];
    for (int64_t t = first; t < kLength; ++t) {
      const bool in_prompt = t < kPrompt;
      const Tensor& part = parts[static_cast<size_t>(in_prompt ? 0 : t - kPrompt + 1)];
      const int64_t row_of_part = row * part.dim(1) + (in_prompt ? t : 0);
      for (int64_t c = 0; c < kWidth; ++c)
        ASSERT_NEAR(part.data<double>()[row_of_part * kWidth + c],
                    expected.data<double>()[(t - first) * kWidth + c], 1e-11)
            << "row " << row << " position " << t;
    }
  }
}

TEST(Cache, PromptAndStepsAreTheWholeSequence) {
  for (int shards : {1, 2, 4})
    for (Family family : {Family::gpt2, Family::post_norm, Family::llama, Family::qwen,
                          Family::parallel, Family::gemma})
      run_ranks(shards, [family](Group& tp) { compare(family, {}, tp); });
}

TEST(Cache, OfStructuresToo) {
  const std::vector<SightSpec> sights{
      {.kind = SightKind::window, .window = 2},
      {.kind = SightKind::global, .window = 2, .marks = {.first = 1, .every = 3}},
      {.kind = SightKind::bigbird, .block = 1, .random = 1},
      {.kind = SightKind::fixed, .block = 1, .stretch = 2}};
  for (const SightSpec& sight : sights)
    for (int shards : {1, 2})
      run_ranks(shards, [&](Group& tp) { compare(Family::llama, sight, tp); });
  const SightSpec hashed{.kind = SightKind::lsh, .window = 3, .sides = {2}};
  for (int shards : {1, 2})
    run_ranks(shards, [&](Group& tp) { compare(Family::post_norm, hashed, tp); });
}

// Three rows of two caches, one of them twice, after the prompt.
void expect_joined_rows_to_go_on(Family family, const SightSpec& sight) {
  const auto alone = single_rank();
  Parameters parameters(DType::f64, 0, 1);
  std::vector<BlockSpec> blocks = test::small_blocks(family);
  for (BlockSpec& block : blocks) std::get<AttentionSpec>(block.sublayers[0].branch).sight = sight;
  const Stack stack(parameters, 0, 0, blocks);
  test::initialize_all(parameters, false);
  const Tensor x = test::random_tensor({2, kLength, kWidth}, 1),
               positions = test::counted_positions(2, kLength, kFirst);
  std::vector<KvCache> caches;
  for (int64_t prompt : {kPrompt, kPrompt + 1}) {
    caches.push_back(empty_cache(1, blocks[0]));
    const Tensor own = Tensor::empty({2, prompt}, DType::i32);
    for (int64_t row = 0; row < 2; ++row)
      own.flat(row * prompt, prompt).copy_from(positions.flat(row * kLength, prompt));
    forward(stack, columns(x, 0, prompt), own, *alone, &caches.back());
    caches.back().length = prompt;
  }
  KvCache joined =
      KvCache::joined({{caches[1], {1}}, {caches[0], {1, 0, 1}}}, {.room = 1, .elements = 1000});
  EXPECT_EQ(joined.length, 4);
  EXPECT_EQ(joined.capacity(), 5);
  const auto first = joined.first_key.span<int32_t>();
  EXPECT_EQ(std::vector<int32_t>(first.begin(), first.end()), (std::vector<int32_t>{1, 2, 0, 2}));
  for (const KvCache& old : caches) EXPECT_FALSE(old.layers[1].values.defined());
  // The next position of each: its row of x, and its column.
  const std::vector<std::pair<int64_t, int64_t>> next{{1, 5}, {1, 4}, {0, 4}, {1, 4}};
  const Tensor given = Tensor::empty({4, 1, kWidth}, DType::f64),
               next_positions = Tensor::empty({4, 1}, DType::i32);
  for (int64_t r = 0; r < 4; ++r) {
    const auto [row, column] = next[static_cast<size_t>(r)];
    given.flat(r * kWidth, kWidth).copy_from(x.flat((row * kLength + column) * kWidth, kWidth));
    next_positions.data<int32_t>()[r] =
        static_cast<int32_t>(column) - kFirst[static_cast<size_t>(row)];
  }
  const Tensor made = forward(stack, given, next_positions, *alone, &joined);
  for (int64_t r = 0; r < 4; ++r) {
    const auto [row, column] = next[static_cast<size_t>(r)];
    const Tensor expected = whole(stack, x, row, *alone);
    for (int64_t c = 0; c < kWidth; ++c)
      ASSERT_NEAR(made.data<double>()[r * kWidth + c],
                  expected.data<double>()[(column - kFirst[static_cast<size_t>(row)]) * kWidth + c],
                  1e-11)
          << r;
  }
}

TEST(Cache, JoinedRowsGoOnAsTheyWere) {
  expect_joined_rows_to_go_on(Family::llama, {});
  expect_joined_rows_to_go_on(Family::post_norm,
                              {.kind = SightKind::lsh, .window = 3, .sides = {2}});
}

// Of one layer, whose numbers are their own, beside one that is held elsewhere.
KvCache with_memories(int64_t width, const std::vector<int64_t>& lengths) {
  const int64_t memories = std::ssize(lengths), rows = memories * width;
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  KvCache cache;
  cache.width = width;
  cache.length = 2;
  cache.first_key = Tensor::zeros({rows}, DType::i32);
  cache.set_memories(lengths, Device{});
  cache.layers.resize(2);
  const auto made = [](int64_t outer, int64_t inner, uint64_t seed) {
    return test::random_tensor({outer, inner, 1, 3}, seed);
  };
  cache.layers[1] = {made(rows, 2, 1), made(rows, 2, 2), made(memories, longest, 3),
                     made(memories, longest, 4)};
  return cache;
}

std::vector<int32_t> numbers_of(const Tensor& tensor) {
  const auto all = tensor.span<int32_t>();
  return {all.begin(), all.end()};
}

TEST(Cache, TellsWhereMemoriesEnd) {
  KvCache cache;
  cache.set_memories({3, 1, 2}, Device{});
  EXPECT_EQ(cache.memory_segments.shape(), (Shape{3, 3}));
  EXPECT_EQ(numbers_of(cache.memory_segments),
            (std::vector<int32_t>{0, 0, 0, 0, -1, -1, 0, 0, -1}));
  cache.set_memories({2, 2}, Device{});
  EXPECT_EQ(cache.memory_lengths, (std::vector<int64_t>{2, 2}));
  EXPECT_FALSE(cache.memory_segments.defined());
}

// Two rows of each memory, of the second one of a cache that had as many, and of those of one that
// had one row of each.
TEST(Cache, JoinedRowsKeepTheirMemories) {
  KvCache pairs = with_memories(2, {3, 1}), singles = with_memories(1, {2, 4, 5});
  const Tensor own = pairs.layers[1].memory_keys, other = singles.layers[1].memory_keys,
               values = singles.layers[1].memory_values, keys = singles.layers[1].keys;
  const KvCache made = KvCache::joined({{pairs, {3, 2}}, {singles, {1, 1, 0, 0}}},
                                       {.room = 1, .width = 2, .memory_elements = 1000});
  EXPECT_EQ(made.width, 2);
  EXPECT_EQ(made.memory_lengths, (std::vector<int64_t>{1, 4, 2}));
  EXPECT_EQ(numbers_of(made.memory_segments),
            (std::vector<int32_t>{0, -1, -1, -1, 0, 0, 0, 0, 0, 0, -1, -1}));
  EXPECT_FALSE(made.layers[0].memory_keys.defined());
  const KvCache::Layer& held = made.layers[1];
  ASSERT_EQ(held.memory_keys.shape(), (Shape{3, 4, 1, 3})) << "as long as the longest that is left";
  const auto same = [](const Tensor& a, int64_t at, const Tensor& b, int64_t from, int64_t count) {
    EXPECT_EQ(test::bytes_of(a.flat(at * 3, count * 3)),
              test::bytes_of(b.flat(from * 3, count * 3)));
  };
  same(held.memory_keys, 0, own, 3, 1);
  same(held.memory_keys, 4, other, 5, 4);
  same(held.memory_keys, 8, other, 0, 2);
  same(held.memory_values, 4, values, 5, 4);
  same(held.keys, 2 * 3, keys, 2, 2);
  same(held.keys, 5 * 3, keys, 0, 2);
  EXPECT_FALSE(singles.layers[1].memory_values.defined());
}

TEST(Cache, MemoriesThatStayAreNotCopied) {
  KvCache cache = with_memories(1, {3, 1});
  const std::byte* before = cache.layers[1].memory_keys.bytes_data();
  KvCache made = KvCache::joined({{cache, {0, 0, 0, 1, 1, 1}}}, {.width = 3});
  EXPECT_EQ(made.layers[1].memory_keys.bytes_data(), before);
  EXPECT_EQ(made.layers[1].keys.dim(0), 6);
  EXPECT_EQ(made.memory_segments.shape(), (Shape{2, 3}));
  EXPECT_FALSE(cache.layers[1].memory_keys.defined());
  const KvCache left = KvCache::joined({{made, {3, 4, 5}}}, {.width = 3});
  EXPECT_EQ(left.layers[1].memory_keys.shape(), (Shape{1, 1, 1, 3}));
  EXPECT_THROW(KvCache::joined({{made, {2, 3}}}, {.width = 2}), Error) << "of two memories";
}

// Row 2 follows row 0 from column 3 on, and row 1 row 3 from column 1.
TEST(Cache, RowsFollowOthersFromWhereTheyDiffer) {
  KvCache cache;
  cache.first_key = Tensor::zeros({4}, DType::i32);
  cache.length = 5;
  for (DType dtype : {DType::f32, DType::bf16}) {
    const Tensor keys = test::random_tensor({4, 7, 2, 3}, 1).to(dtype),
                 values = test::random_tensor({4, 7, 2, 3}, 2).to(dtype);
    const Tensor buckets = Tensor::empty({4, 7, 2, 3}, DType::i32);
    std::iota(buckets.data<int32_t>(), buckets.data<int32_t>() + buckets.size(), 0);
    cache.layers.push_back({keys.clone(), values.clone()});
    cache.layers.front().buckets = buckets.clone();
    cache.layers.push_back({});
    cache.follow({{0, 2, 3}, {3, 1, 1}});
    const KvCache::Layer& made = cache.layers.front();
    for (const auto& [before, after] :
         {std::pair{keys, made.keys}, {values, made.values}, {buckets, made.buckets}})
      for (int64_t row = 0; row < 4; ++row)
        for (int64_t column = 0; column < 7; ++column) {
          const bool third = row == 2 && column >= 3 && column < 5,
                     second = row == 1 && column >= 1 && column < 5;
          const int64_t from = third ? 0 : second ? 3 : row;
          EXPECT_EQ(test::bytes_of(after.flat((row * 7 + column) * 6, 6)),
                    test::bytes_of(before.flat((from * 7 + column) * 6, 6)))
              << row << " " << column;
        }
    cache.layers.clear();
  }
  cache.follow({});
}

TEST(Cache, OfOneSizeStaysInItsMemory) {
  const std::byte* before = KvCache::layer_memory({2, 3, 1, 4}, 4321, DType::f32, {}).bytes_data();
  const Tensor one = KvCache::layer_memory({5, 7, 1, 4}, 4321, DType::f32, {});
  EXPECT_EQ(one.size(), 140);
  EXPECT_EQ(one.bytes_data(), before);
  EXPECT_EQ(KvCache::layer_memory({5, 9, 2, 4}, 96, DType::f32, {}).size(), 360)
      << "more than was asked for";
}

TEST(Cache, MakesALayerWhenItIsFirstAppendedTo) {
  KvCache cache;
  cache.layers.resize(2);
  cache.positions = 4;
  cache.elements = 100;
  EXPECT_EQ(cache.capacity(), 4) << "to be made";
  const Tensor two = test::random_tensor({3, 2, 2, 4}, 1),
               one = test::random_tensor({3, 1, 2, 4}, 2);
  cache.append(1, two, two);
  cache.length = 2;
  cache.append(1, one, one);
  EXPECT_EQ(cache.capacity(), 4);
  EXPECT_EQ(cache.layers[1].keys.shape(), (Shape{3, 4, 2, 4}));
  EXPECT_FALSE(cache.layers[0].keys.defined());
  for (int64_t row = 0; row < 3; ++row) {
    const Tensor& keys = cache.layers[1].keys;
    EXPECT_EQ(test::bytes_of(keys.flat(row * 32, 16)), test::bytes_of(two.flat(row * 16, 16)));
    EXPECT_EQ(test::bytes_of(keys.flat(row * 32 + 16, 8)), test::bytes_of(one.flat(row * 8, 8)));
  }
}

TEST(Cache, RefusesMorePositionsThanItHolds) {
  KvCache cache;
  cache.layers.push_back(
      {Tensor::zeros({1, 3, 2, 4}, DType::f64), Tensor::zeros({1, 3, 2, 4}, DType::f64)});
  const Tensor two = test::random_tensor({1, 2, 2, 4}, 1);
  cache.append(0, two, two);
  EXPECT_EQ(test::bytes_of(cache.layers[0].keys.flat(0, 16)), test::bytes_of(two));
  EXPECT_EQ(cache.length, 0) << "the whole model must have passed first";
  cache.length = 2;
  EXPECT_THROW(cache.append(0, two, two), Error);
}

}  // namespace
}  // namespace skein
