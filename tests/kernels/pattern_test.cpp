// Attention over patterns against their definition: every pair asked for by itself.
#include "skein/kernels/pattern.h"

#include <cmath>

#include "support/drawn_attention.h"

namespace skein {
namespace {

using kernels::AttentionArguments;
using kernels::KeyRun;
using kernels::KeyRuns;
using kernels::Pattern;
using kernels::PatternView;
using test::AttentionSizes;
using test::bytes_of;
using test::drawn_attention;
using test::DrawnAttention;
using test::Draws;
using test::random_tensor;
using test::Tensors;

constexpr double kNothing = -std::numeric_limits<double>::infinity();

struct Attended {
  Tensor out, level;
};

Attended attend(const Tensors& in, const AttentionArguments& arguments) {
  const Attended made{
      Tensor::empty(in[0].shape(), in[0].dtype()),
      Tensor::empty({in[0].dim(0), in[0].dim(2), in[0].dim(1)}, gradient_dtype(in[0].dtype()))};
  kernels::attention(Cpu{}, in[0], in[1], in[2], arguments, Out(made.out), Out(made.level));
  return made;
}

// One query of one head, in f64.
class Definition {
 public:
  Definition(const Tensors& in, const AttentionArguments& arguments, const AttentionSizes& sizes)
      : in_(in), arguments_(arguments), s_(sizes) {}

  // By key, the score with which it counts; -inf where it is not seen.
  std::vector<double> scores(int64_t sample, int64_t head, int64_t query) const {
    const PatternView view(arguments_.pattern, sample, head, s_.queries, s_.keys);
    std::vector<double> made;
    for (int64_t j = 0; j < s_.keys; ++j) {
      const int64_t times = view.times(query, j);
      made.push_back(times ? score(sample, head, query, j) + std::log(times) : kNothing);
    }
    const bool sees = std::any_of(made.begin(), made.end(), [](double x) { return x > kNothing; });
    PatternView own = view;
    own.self_last = false;
    for (int64_t j = 0; view.self_last && !sees && j < s_.keys; ++j)
      if (view.places_back(query, j) == 0 && own.times(query, j))
        made[static_cast<size_t>(j)] = kernels::kAlone;
    return made;
  }

  double level(int64_t sample, int64_t head, int64_t query) const {
    const auto all = scores(sample, head, query);
    const double top = *std::max_element(all.begin(), all.end());
    double sum = 0;
    for (double score : all)
      if (score > kNothing) sum += std::exp(score - top);
    return sum > 0 ? top + std::log(sum) : kNothing;
  }

  double out(int64_t sample, int64_t head, int64_t query, int64_t d) const {
    const auto all = scores(sample, head, query);
    const double top = *std::max_element(all.begin(), all.end());
    double sum = 0, weights = 0;
    for (int64_t j = 0; j < s_.keys; ++j)
      if (const double score = all[static_cast<size_t>(j)]; score > kNothing) {
        weights += std::exp(score - top);
        sum += std::exp(score - top) * value(2, sample, j, group(head), d);
      }
    return weights > 0 ? sum / weights : 0;
  }

 private:
  int64_t group(int64_t head) const { return head / (s_.heads / s_.groups); }
  double value(size_t of, int64_t sample, int64_t row, int64_t head, int64_t d) const {
    const Tensor& x = in_[of];
    return x.data<double>()[((sample * x.dim(1) + row) * x.dim(2) + head) * x.dim(3) + d];
  }
  double score(int64_t sample, int64_t head, int64_t query, int64_t key) const {
    double dot = 0;
    for (int64_t d = 0; d < s_.width; ++d)
      dot += value(0, sample, query, head, d) * value(1, sample, key, group(head), d);
    return arguments_.scale * dot + bias(sample, head, query, key);
  }
  double bias(int64_t sample, int64_t head, int64_t query, int64_t key) const {
    const Tensor& x = arguments_.bias;
    if (!x.defined()) return 0;
    const int64_t row = sample * x.dim(0) / s_.samples * s_.heads + head;
    if (x.shape().rank() == 4) return x.data<double>()[(row * s_.queries + query) * s_.keys + key];
    return x.data<double>()[row * x.dim(2) + key - query + s_.queries - 1];
  }

  const Tensors& in_;
  const AttentionArguments& arguments_;
  AttentionSizes s_;
};

void expect_near(double wanted, double found, double tolerance, const std::string& where) {
  if (std::isinf(wanted))
    ASSERT_EQ(found, wanted) << where;
  else
    ASSERT_NEAR(found, wanted, tolerance * std::max(1.0, std::abs(wanted))) << where;
}

TEST(Pattern, AttentionIsItsDefinition) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const DrawnAttention d = drawn_attention(seed);
    const AttentionSizes& s = d.sizes;
    AttentionArguments single = d.arguments;
    if (single.bias.defined()) single.bias = single.bias.to(DType::f32);
    const auto as = [&](DType dtype) {
      return Tensors{d.in[0].to(dtype), d.in[1].to(dtype), d.in[2].to(dtype)};
    };
    const Attended exact = attend(d.in, d.arguments), f32 = attend(as(DType::f32), single),
                   bf16 = attend(as(DType::bf16), single);
    const auto outs = test::values_of(bf16.out);
    const Definition definition(d.in, d.arguments, s);
    for (int64_t b = 0; b < s.samples; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t t = seed % 7; t < s.queries; t += 1 + s.queries / 4) {
          const auto where = fmt::format("seed {} sample {} head {} query {}", seed, b, h, t);
          const int64_t at = ((b * s.queries + t) * s.heads + h) * s.width,
                        row = (b * s.heads + h) * s.queries + t;
          const double wanted = definition.out(b, h, t, 0), level = definition.level(b, h, t);
          expect_near(wanted, exact.out.data<double>()[at], 1e-12, where);
          expect_near(wanted, f32.out.data<float>()[at], 1e-5, where);
          expect_near(wanted, outs[static_cast<size_t>(at)], 0.06, where);
          expect_near(level, exact.level.data<double>()[row], 1e-12, where);
          expect_near(level, f32.level.data<float>()[row], 1e-5, where);
        }
  }
}

TEST(Pattern, RunsAreThePairsThatSeeEachOther) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const DrawnAttention d = drawn_attention(seed);
    const AttentionSizes& s = d.sizes;
    double pairs = 0;
    for (int64_t b = 0; b < s.samples; ++b)
      for (int64_t h = 0; h < s.heads; ++h) {
        const PatternView view(d.arguments.pattern, b, h, s.queries, s.keys);
        const KeyRuns runs(view);
        for (int64_t t = 0; t < s.queries; ++t) {
          std::vector<int64_t> found(static_cast<size_t>(s.keys), 0);
          int64_t last = 0;
          for (const KeyRun& run : runs.of(t)) {
            ASSERT_LE(last, run.begin);
            ASSERT_LT(run.begin, run.end);
            last = run.end;
            for (int64_t j = run.begin; j < run.end; ++j)
              found[static_cast<size_t>(j)] = run.whole ? run.times : view.times(t, j);
          }
          for (int64_t j = 0; j < s.keys; ++j) {
            if (!runs.alone(t)) {
              ASSERT_EQ(found[static_cast<size_t>(j)], view.times(t, j)) << seed << " " << t;
            }
            pairs += static_cast<double>(found[static_cast<size_t>(j)]);
          }
        }
      }
    EXPECT_EQ(kernels::visible_pairs(d.arguments.pattern, s.samples, s.heads, s.queries, s.keys),
              pairs)
        << seed;
  }
}

struct Slopes {
  Tensor q, k, v, bias;
};

Slopes slopes_of(const Tensors& in, const AttentionArguments& arguments, const Tensor& dout,
                 const Tensor& dlevel) {
  const Attended forward = attend(in, arguments);
  const auto like = [](const Tensor& x) {
    return x.defined() ? Tensor::empty(x.shape(), x.dtype()) : Tensor();
  };
  const Slopes made{like(in[0]), like(in[1]), like(in[2]), like(arguments.bias)};
  kernels::attention_backward(Cpu{}, {in[0], in[1], in[2], forward.out, forward.level}, arguments,
                              {dout, dlevel},
                              {Out(made.q), Out(made.k), Out(made.v), Out(made.bias)});
  return made;
}

// Σ dout · out + dlevel · level, of levels that hang on the inputs and are no -inf.
double weighed(const Tensors& in, const AttentionArguments& arguments, const Tensor& dout,
               const Tensor& dlevel) {
  const Attended made = attend(in, arguments);
  double sum = 0;
  for (int64_t i = 0; i < dout.size(); ++i)
    sum += made.out.data<double>()[i] * dout.data<double>()[i];
  for (int64_t i = 0; i < dlevel.size(); ++i)
    if (made.level.data<double>()[i] > kernels::kAlone / 2)
      sum += made.level.data<double>()[i] * dlevel.data<double>()[i];
  return sum;
}

TEST(Pattern, GradientsAreTheSlopes) {
  for (uint64_t seed = 0; seed < 80; ++seed) {
    DrawnAttention d = drawn_attention(seed);
    if (seed % 2) {
      d.arguments.dropout = 0.3;
      d.arguments.dropout_key = 5;
      d.arguments.sample_ids =
          Tensor::from(std::vector<int64_t>{4, 1}, {2}).rows(0, d.sizes.samples);
    }
    const Tensor dout = random_tensor(d.in[0].shape(), 77),
                 dlevel = random_tensor({d.sizes.samples, d.sizes.heads, d.sizes.queries}, 78);
    const Slopes found = slopes_of(d.in, d.arguments, dout, dlevel);
    Draws draws(seed);
    const auto check = [&](const Tensor& x, const Tensor& slope, const char* name) {
      for (int n = 0; x.defined() && n < 6; ++n) {
        double& value = x.data<double>()[draws.below(x.size())];
        const int64_t at = &value - x.data<double>();
        const double before = value, step = 1e-5;
        value = before + step;
        const double up = weighed(d.in, d.arguments, dout, dlevel);
        value = before - step;
        const double down = weighed(d.in, d.arguments, dout, dlevel);
        value = before;
        ASSERT_NEAR(slope.data<double>()[at], (up - down) / (2 * step), 1e-6)
            << name << " " << at << " seed " << seed;
      }
    };
    check(d.in[0], found.q, "q");
    check(d.in[1], found.k, "k");
    check(d.in[2], found.v, "v");
    check(d.arguments.bias, found.bias, "bias");
  }
}

// Bits of a sample, alone and beside another, whose bias it may share.
TEST(Pattern, ASampleDoesNotKnowItsBatch) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    DrawnAttention d = drawn_attention(seed);
    if (d.sizes.samples < 2) continue;
    const auto narrowed = [](const Tensor& x) { return x.to(DType::f32); };
    for (Tensor& x : d.in) x = narrowed(x);
    Tensor& bias = d.arguments.bias;
    if (bias.defined()) bias = narrowed(bias);
    const Attended both = attend(d.in, d.arguments);
    for (int64_t b : {0, 1}) {
      const auto alone = [b](const Tensor& x) { return x.defined() ? x.rows(b, b + 1) : x; };
      AttentionArguments own = d.arguments;
      Pattern& p = own.pattern;
      for (Tensor* x : {&p.query_segments, &p.key_segments, &p.first_key, &p.prefix, &p.marked,
                        &p.query_places, &p.key_places, &p.lists.origins, &p.lists.rows})
        *x = alone(*x);
      if (bias.defined() && bias.dim(0) > 1) own.bias = alone(bias);
      const Attended one = attend({alone(d.in[0]), alone(d.in[1]), alone(d.in[2])}, own);
      EXPECT_EQ(bytes_of(one.out), bytes_of(alone(both.out))) << seed;
      EXPECT_EQ(bytes_of(one.level), bytes_of(alone(both.level))) << seed;
    }
  }
}

}  // namespace
}  // namespace skein
