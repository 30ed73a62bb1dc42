#include "skein/generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/kernels/elementwise.h"
#include "skein/kernels/loss.h"

namespace skein::generate {

void bind(Options& options, SamplingConfig& c) {
  options.add("sample.temperature", c.temperature,
              "divides the logits; 0 takes the likeliest token");
  options.add("sample.top_k", c.top_k, "only the k likeliest tokens; 0: all", "tokens");
  options.add("sample.top_p", c.top_p,
              "only the likeliest tokens whose probabilities reach p together");
  options.add("sample.seed", c.seed, "of the draws");
  options.add("sample.banned", c.banned, "ids of tokens that are never drawn");
}

void check(const SamplingConfig& c) {
  require(c.temperature >= 0, "sample.temperature={} must not be below 0", c.temperature);
  require(c.top_k >= 0, "sample.top_k={} must not be below 0", c.top_k);
  require(c.top_p > 0 && c.top_p <= 1, "sample.top_p={} must be above 0 and at most 1", c.top_p);
}

void check_banned(const SamplingConfig& c, int64_t ids, int64_t vocabulary) {
  std::set<int64_t> banned;
  for (int64_t id : c.banned) {
    require(id >= 0 && id < ids,
            "sample.banned names token {}, outside of the model's vocabulary of {}", id, ids);
    if (id < vocabulary) banned.insert(id);
  }
  require(std::ssize(banned) < vocabulary,
          "sample.banned names all {} tokens of the vocabulary; leave one to draw", vocabulary);
}

std::vector<int64_t> banned_ids(const text::Tokenizer& tokenizer, int64_t ids, int32_t end,
                                bool specials) {
  std::vector<int64_t> banned;
  if (specials)
    for (const auto& [text, id] : tokenizer.special_tokens())
      if (id != end) banned.push_back(id);
  for (int64_t id = tokenizer.vocab_size(); id < ids; ++id) banned.push_back(id);
  return banned;
}

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// By a sum, which leaves a NaN one.
void ban(const std::vector<int64_t>& ids, const Tensor& logits) {
  const Tensor added = Tensor::zeros({logits.dim(1)}, DType::f32);
  for (int64_t id : ids) {
    SKEIN_CHECK(id < added.size());
    added.data<float>()[id] = -kInfinity;
  }
  const Tensor there = added.to(logits.device());
  on_device(logits.device(),
            [&](auto device) { kernels::add_bias(device, logits, there, Out(logits)); });
}

// [B] f64
Tensor uniforms_of(uint64_t seed, const std::vector<Draw>& draws) {
  const uint64_t key = derive_key(seed, "sample");
  const Tensor uniforms = Tensor::empty({std::ssize(draws)}, DType::f64);
  std::transform(draws.begin(), draws.end(), uniforms.data<double>(), [&](const Draw& draw) {
    if (draw.position < 0) return -1.0;
    const PhiloxBlock bits = philox(key, draw.prompt, draw.position);
    return uniform_double(bits[0], bits[1]);
  });
  return uniforms;
}

void require_ids(const Tensor& ids) {
  for (int32_t id : ids.span<int32_t>()) {
    if (id >= 0) continue;
    if (id > kernels::kAllAreMinusInfinite)
      fail("the logit of token {} is not a number; the model's weights are damaged or diverged",
           -1 - id);
    fail("the largest logit is {}; the model's weights are damaged or diverged",
         id == kernels::kLargestIsInfinite ? kInfinity : -kInfinity);
  }
}

}  // namespace

Tensor sample(const Tensor& logits, int64_t vocabulary, const SamplingConfig& config,
              const std::vector<Draw>& draws) {
  SKEIN_CHECK_EQ(logits.dim(0), std::ssize(draws));
  if (!config.banned.empty()) ban(config.banned, logits);
  const Tensor uniforms = uniforms_of(config.seed, draws).to(logits.device());
  const Tensor ids = Tensor::empty(uniforms.shape(), DType::i32, logits.device());
  on_device(logits.device(), [&](auto device) {
    kernels::sample(device, logits, vocabulary, config, uniforms, Out(ids));
  });
  const Tensor here = ids.to(Device{});
  require_ids(here);
  return here;
}

Tensor log_probabilities(const Tensor& logits, int64_t vocabulary, const Tensor& ids) {
  const Shape rows{logits.dim(0)};
  const Tensor maximum = logits.like(rows), sum = logits.like(rows), own = logits.like(rows);
  on_device(logits.device(), [&](auto device) {
    kernels::row_statistics(device, logits, vocabulary, ids.to(logits.device()), Out(maximum),
                            Out(sum), Out(own));
  });
  const Tensor sums = sum.to(Device{}), made = own.to(Device{});
  for (int64_t row = 0; row < rows.size(); ++row)
    made.data<float>()[row] -= std::log(sums.data<float>()[row]);
  return made;
}

}  // namespace skein::generate
