#include "skein/nn/hashed_sight.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "skein/core/json.h"
#include "skein/kernels/hashing.h"

#include "support/kernel_check.h"

namespace skein {
namespace {

using test::random_tensor;

SightSpec in_buckets(int64_t window) {
  return {.kind = SightKind::lsh, .window = window, .rounds = 2, .sides = {4}};
}

SightSpec in_blocks(int64_t block) {
  SightSpec made = in_buckets(0);
  made.block = block;
  made.same_bucket = false;
  return made;
}

ops::AttentionArguments scaled(int64_t width) {
  ops::AttentionArguments made;
  made.scale = 1 / std::sqrt(static_cast<double>(width));
  return made;
}

HashedSight sight_of(const SightSpec& spec, bool causal, const Tensor& q) {
  return {Parameters(q.dtype(), 0, 1), {spec, causal, 3, q.dim(3)}};
}

// [B,A,H,D] of q and v [B,T,H,D].
Var looked(const HashedSight& sight, const Var& q, const Var& v, const Tensor& segments = {},
           int64_t asked = 0) {
  return sight(q, v,
               sight.order(sight.buckets(q.value(), 5), segments, asked ? asked : q.shape()[1]),
               scaled(q.shape()[3]));
}

Tensor looked(const SightSpec& spec, bool causal, const Tensor& q, const Tensor& v,
              const Tensor& segments = {}, int64_t asked = 0) {
  return looked(sight_of(spec, causal, q), Var(q), Var(v), segments, asked).value();
}

// Rows of a cache that begin in these columns.
KvCache cache_of_rows(const std::vector<int32_t>& begins, int64_t positions) {
  KvCache made;
  made.layers.resize(4);
  made.positions = positions;
  made.first_key = Tensor::from(begins, {std::ssize(begins)});
  return made;
}

// [B,A,H,D] of q and v in a cache.
Tensor looked_from_cache(const SightSpec& spec, bool causal, const Tensor& q, const Tensor& v,
                         int64_t asked) {
  const HashedSight sight = sight_of(spec, causal, q);
  KvCache cache = cache_of_rows(std::vector<int32_t>(static_cast<size_t>(q.dim(0))), q.dim(1) + 2);
  sight.append(cache, q, v, 5);
  cache.length = q.dim(1) - asked;
  return sight.decode(cache, asked, nullptr, scaled(q.dim(3)));
}

Tensor of_golden(const nlohmann::json& numbers, const Shape& shape) {
  return Tensor::from(numbers.get<std::vector<double>>(), shape);
}

TEST(HashedSight, InBlocksIsThatOfTransformers) {
  const auto golden = nlohmann::json::parse(std::ifstream("nn/hashed_sight.golden.json"));
  const int64_t samples = golden["samples"], heads = golden["heads"], width = golden["width"];
  ASSERT_EQ(golden["cases"].size(), 5u);
  for (const auto& one : golden["cases"]) {
    const int64_t tokens = one["tokens"];
    SightSpec spec = in_blocks(golden["block"]);
    spec.rounds = one["rounds"];
    spec.sides = one["sides"].get<std::vector<int64_t>>();
    const Shape shape{samples, tokens, heads, width};
    const Var q = Var::leaf(of_golden(one["q"], shape)), v = Var::leaf(of_golden(one["v"], shape));
    const int64_t planes =
        static_cast<int64_t>(one["rotations"].size()) / (heads * spec.rounds * width);
    const Tensor turns =
        of_golden(one["rotations"], {heads, spec.rounds, width, planes}).to(DType::f32);
    const Tensor buckets = Tensor::empty({samples, tokens, heads, spec.rounds}, DType::i32);
    kernels::hash_buckets(Cpu{}, q.value().reshape({samples * tokens, heads, width}), turns,
                          spec.sides, Out(buckets));
    const Parameters parameters(DType::f64, 0, 1);
    const HashedSight sight(parameters, {spec, one["causal"], 0, width});
    const Var y =
        sight(q, v, hashed_rows(spec, one["causal"], buckets, {}, tokens, {}), scaled(width));
    test::expect_near(y.value(), of_golden(one["y"], shape), 1e-7, "results");
    backward(y, of_golden(one["dy"], shape));
    test::expect_near(q.gradient(), of_golden(one["dq"], shape), 1e-7, "gradient of q");
    test::expect_near(v.gradient(), of_golden(one["dv"], shape), 1e-7, "gradient of v");
  }
}

// What one query of one sample and head sees, by the definition: weights of all tokens in sum over
// the rounds, as exp(score).
class Reference {
 public:
  Reference(const SightSpec& spec, bool causal, const Tensor& q, const Tensor& segments)
      : spec_(spec),
        causal_(causal),
        q_(q),
        segments_(segments),
        buckets_(Tensor::empty({q.dim(0), q.dim(1), q.dim(2), spec.rounds}, DType::i32)) {
    kernels::hash_buckets(Cpu{}, q.reshape({q.dim(0) * q.dim(1), q.dim(2), q.dim(3)}),
                          rotations_of(spec, 3, 5, q.dim(2), q.dim(3), {}), spec.sides,
                          Out(buckets_));
  }

  std::vector<double> weights(int64_t sample, int64_t token, int64_t head) const {
    std::vector<double> made(static_cast<size_t>(q_.dim(1)));
    for (int64_t round = 0; round < spec_.rounds; ++round) add(sample, token, head, round, made);
    return made;
  }

 private:
  int32_t group(int64_t sample, int64_t token, int64_t head, int64_t round) const {
    const int32_t segment = segments_.data<int32_t>()[sample * q_.dim(1) + token];
    const int64_t row = (sample * q_.dim(1) + token) * q_.dim(2) + head;
    return segment < 0 ? -1 : segment * 100 + buckets_.data<int32_t>()[row * spec_.rounds + round];
  }
  const double* vector(int64_t sample, int64_t token, int64_t head) const {
    return q_.data<double>() + ((sample * q_.dim(1) + token) * q_.dim(2) + head) * q_.dim(3);
  }
  double score(int64_t sample, int64_t token, int64_t key, int64_t head) const {
    const double *a = vector(sample, token, head), *b = vector(sample, key, head);
    double product = 0, square = 0;
    for (int64_t d = 0; d < q_.dim(3); ++d) {
      product += a[d] * b[d];
      square += b[d] * b[d];
    }
    const auto width = static_cast<double>(q_.dim(3));
    return product / std::sqrt(square / width + 1e-6) / std::sqrt(width);
  }

  void add(int64_t sample, int64_t token, int64_t head, int64_t round,
           std::vector<double>& to) const {
    const int32_t own = group(sample, token, head, round);
    if (own < 0) return;
    bool alone = true;
    for (const int64_t step : {int64_t{-1}, int64_t{1}}) {
      if (step > 0 && causal_) continue;
      const int64_t most = causal_ ? spec_.window - 1 : spec_.window / 2;
      int64_t seen = 0;
      for (int64_t key = token + step; key >= 0 && key < q_.dim(1) && seen < most; key += step)
        if (group(sample, key, head, round) == own) {
          ++seen;
          alone = false;
          to[static_cast<size_t>(key)] += std::exp(score(sample, token, key, head));
        }
    }
    if (alone) to[static_cast<size_t>(token)] += std::exp(kernels::kAlone);
  }

  const SightSpec& spec_;
  bool causal_;
  const Tensor &q_, &segments_;
  Tensor buckets_;
};

void expect_as_defined(const SightSpec& spec, bool causal, const Tensor& q, const Tensor& v,
                       const Tensor& segments, const Tensor& y) {
  const Reference reference(spec, causal, q, segments);
  const int64_t length = q.dim(1), heads = q.dim(2), width = q.dim(3);
  for (int64_t row = 0; row < q.dim(0) * length * heads; ++row) {
    const int64_t sample = row / heads / length, token = row / heads % length, head = row % heads;
    if (segments.data<int32_t>()[sample * length + token] < 0) continue;
    const std::vector<double> weights = reference.weights(sample, token, head);
    double sum = 0;
    for (const double weight : weights) sum += weight;
    for (int64_t d = 0; d < width; ++d) {
      double wanted = sum > 0 ? 0 : v.data<double>()[row * width + d];
      for (int64_t key = 0; key < length && sum > 0; ++key)
        wanted += weights[static_cast<size_t>(key)] / sum *
                  v.data<double>()[((sample * length + key) * heads + head) * width + d];
      ASSERT_NEAR(y.data<double>()[row * width + d], wanted, 1e-12) << row << " " << d;
    }
  }
}

// Two documents in the first sample, padding in the second.
TEST(HashedSight, InBucketsSeesTheNearestOfThem) {
  const int64_t length = 40;
  const Tensor q = random_tensor({2, length, 3, 4}, 1), v = random_tensor({2, length, 3, 4}, 2),
               segments = Tensor::zeros({2, length}, DType::i32);
  for (int64_t i = 17; i < length; ++i) segments.data<int32_t>()[i] = 1;
  for (int64_t i = 33; i < length; ++i) segments.data<int32_t>()[length + i] = -1;
  for (const bool causal : {false, true})
    for (const int64_t window : {2, 4, 100})
      expect_as_defined(in_buckets(window), causal, q, v, segments,
                        looked(in_buckets(window), causal, q, v, segments));
}

// Rows [0, count) of each sample of x [B,T,H,D].
Tensor first_rows(const Tensor& x, int64_t count) {
  const Tensor made = Tensor::empty({x.dim(0), count, x.dim(2), x.dim(3)}, x.dtype());
  const int64_t size = x.dim(2) * x.dim(3);
  for (int64_t sample = 0; sample < x.dim(0); ++sample)
    made.flat(sample * count * size, count * size)
        .copy_from(x.flat(sample * x.dim(1) * size, count * size));
  return made;
}

TEST(HashedSight, ADecodersBucketsDoNotHangOnWhatFollows) {
  const Tensor q = random_tensor({2, 30, 2, 4}, 1), v = random_tensor({2, 30, 2, 4}, 2),
               all = looked(in_buckets(4), true, q, v);
  for (const int64_t count : {1, 2, 7, 29})
    test::expect_near(looked(in_buckets(4), true, first_rows(q, count), first_rows(v, count)),
                      first_rows(all, count), 1e-12, "the beginning");
}

TEST(HashedSight, TheLastTokensMayBeAskedAlone) {
  const Tensor q = random_tensor({2, 30, 2, 4}, 1), v = random_tensor({2, 30, 2, 4}, 2);
  for (const SightSpec& spec : {in_buckets(4), in_blocks(4)})
    for (const bool causal : {false, true}) {
      const Tensor all = looked(spec, causal, q, v);
      for (const int64_t asked : {1, 5, 30}) {
        const Tensor some = spec.same_bucket ? looked_from_cache(spec, causal, q, v, asked)
                                             : looked(spec, causal, q, v, {}, asked);
        ASSERT_EQ(some.shape(), (Shape{2, asked, 2, 4}));
        for (int64_t sample = 0; sample < 2; ++sample)
          test::expect_near(some.flat(sample * asked * 8, asked * 8),
                            all.flat((sample * 30 + 30 - asked) * 8, asked * 8), 1e-12, "the last");
      }
    }
}

// What comes with a sample and pads it: samples of one and several blocks.
TEST(HashedSight, GivesTheSameBitsWhateverPaddingFollows) {
  for (const int64_t count : {4, 9, 24})
    for (const SightSpec& spec : {in_buckets(4), in_blocks(4)}) {
      const Tensor q = random_tensor({2, 30, 2, 4}, 1, DType::f32),
                   v = random_tensor({2, 30, 2, 4}, 2, DType::f32),
                   segments = Tensor::zeros({2, 30}, DType::i32);
      for (int64_t i = count; i < 30; ++i) segments.data<int32_t>()[i] = -1;
      const auto made = [&](const Tensor& q, const Tensor& v, const Tensor& segments) {
        const HashedSight sight = sight_of(spec, false, q);
        const Var from = Var::leaf(q), values = Var::leaf(v),
                  y = looked(sight, from, values, segments);
        Tensor slope = y.value().like();
        slope.fill_zero();
        slope.flat(0, count * 8).copy_from(random_tensor({count * 8}, 5, DType::f32));
        backward(y, slope);
        std::vector<std::vector<std::byte>> bytes;
        for (const Tensor& x : {y.value(), from.gradient(), values.gradient()})
          bytes.push_back(test::bytes_of(x.flat(0, count * 8)));
        return bytes;
      };
      EXPECT_EQ(made(q, v, segments),
                made(first_rows(q.rows(0, 1), count), first_rows(v.rows(0, 1), count),
                     Tensor::zeros({1, count}, DType::i32)))
          << count;
    }
}

TEST(HashedSight, CountsWhatIsSeen) {
  const SightSpec buckets = in_buckets(16);
  EXPECT_NEAR(hashed_keys_per_query(buckets, false, 1000), 32, 1e-9);
  EXPECT_NEAR(hashed_keys_per_query(buckets, false, 40), 20, 1e-9);
  EXPECT_NEAR(hashed_keys_per_query(buckets, true, 40), 10, 1e-9);
  EXPECT_NEAR(hashed_keys_per_query(in_blocks(8), false, 40), 32, 1e-9);
  EXPECT_NEAR(hashed_keys_per_query(in_blocks(8), true, 40), 16, 1e-9);
  EXPECT_NEAR(hashed_keys_per_query(in_blocks(8), false, 8), 8, 1e-9);
  EXPECT_TRUE(saves(buckets, false, 1000));
  EXPECT_FALSE(saves(in_blocks(16), false, 40));
}

// Of a round's tokens that are no padding the `n`-th, and where its document and bucket begin.
struct Ranked {
  int64_t token, first;
};

std::vector<Ranked> ranked(const Tensor& buckets, const Tensor& documents, int64_t set,
                           int64_t round) {
  const int64_t length = buckets.dim(1), heads = buckets.dim(2), sample = set / heads;
  std::vector<std::array<int64_t, 3>> sorted;
  for (int64_t token = 0; token < length; ++token) {
    const int64_t row = (sample * length + token) * heads + set % heads,
                  document =
                      documents.defined() ? documents.data<int32_t>()[sample * length + token] : 0;
    if (document >= 0)
      sorted.push_back({document, buckets.data<int32_t>()[row * buckets.dim(3) + round], token});
  }
  std::ranges::sort(sorted);
  std::vector<Ranked> made;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const bool same = i > 0 && sorted[i][0] == sorted[i - 1][0] && sorted[i][1] == sorted[i - 1][1];
    made.push_back({sorted[i][2], same ? made.back().first : static_cast<int64_t>(i)});
  }
  return made;
}

TEST(HashedSight, TextsAreInTheOrderOfDocumentBucketAndPlace) {
  const Tensor q = random_tensor({2, 50, 3, 8}, 7), segments = Tensor::empty({2, 50}, DType::i32);
  for (int64_t i = 0; i < segments.size(); ++i)
    segments.data<int32_t>()[i] = i % 50 > 40 ? -1 : static_cast<int32_t>(i % 50 / 17);
  const SightSpec spec = in_buckets(6);
  const HashedSight sight = sight_of(spec, true, q);
  const Tensor buckets = sight.buckets(q, 5);
  for (const Tensor& documents : {Tensor(), segments}) {
    const HashedRows found = sight.order(buckets, documents, 50);
    std::vector<int32_t> rows(6 * 100, -1), groups = rows, parts(2 * 300, -1);
    for (int64_t set = 0; set < 6; ++set)
      for (int64_t round = 0, next = 0; round < 2; ++round) {
        const std::vector<Ranked> all = ranked(buckets, documents, set, round);
        const int64_t begin = next;
        for (const Ranked& one : all) {
          const int64_t row = (set / 3 * 50 + one.token) * 3 + set % 3, at = set * 100 + next++;
          rows[at] = static_cast<int32_t>(row);
          groups[at] = static_cast<int32_t>(begin + one.first);
          parts[round * 300 + row] = static_cast<int32_t>(at);
        }
      }
    const auto numbers = [](const Tensor& x) {
      return std::vector<int32_t>(x.data<int32_t>(), x.data<int32_t>() + x.size());
    };
    for (const ops::RowChoice& choice : {found.queries, found.keys}) {
      EXPECT_EQ(numbers(choice.rows), rows);
      EXPECT_EQ(numbers(choice.back), parts);
    }
    EXPECT_EQ(numbers(found.parts), parts);
    EXPECT_EQ(numbers(found.pattern.query_segments), groups);
    EXPECT_EQ(numbers(found.pattern.key_segments), groups);
  }
}

// What the layer holds of earlier tokens is taken as it is.
TEST(HashedSight, ATokenThatIsAppendedIsHashedAlone) {
  const Tensor q = random_tensor({2, 6, 3, 4}, 1), one = random_tensor({2, 1, 3, 4}, 2);
  const HashedSight sight = sight_of(in_buckets(4), true, q);
  KvCache cache = cache_of_rows({0, 2}, 8);
  sight.append(cache, q, q, 5);
  cache.length = 6;
  const Tensor& held = cache.layers[3].buckets;
  ASSERT_EQ(held.shape(), (Shape{2, 8, 3, 2}));
  std::ranges::fill(held.span<int32_t>(), 7);
  sight.append(cache, one, one, 5);
  const Tensor wanted = sight.buckets(one, 5);
  for (int64_t i = 0; i < held.size(); ++i) {
    const int64_t column = i / 6 % 8;
    EXPECT_EQ(held.data<int32_t>()[i], column == 6 ? wanted.data<int32_t>()[i / 48 * 6 + i % 6] : 7)
        << i;
  }
  cache.layers[3].buckets = {};  // as where rows have moved
  sight.append(cache, one, one, 5);
  EXPECT_EQ(test::bytes_of(cache.layers[3].buckets.flat(0, 36)),
            test::bytes_of(sight.buckets(q, 5).flat(0, 36)));
}

}  // namespace
}  // namespace skein
