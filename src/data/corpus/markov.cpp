#include "skein/data/corpus/markov.h"

#include <cmath>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/philox.h"

namespace skein::data {
namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 24;
constexpr int kMostRounds = 100'000;
constexpr double kBaseShare = 0.1;

double nats(double p) { return p > 0 ? -p * std::log(p) : 0; }

size_t pick(std::span<const double> weights, double u) {
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    if (u < weights[i]) break;
    u -= weights[i];
  }
  return last;
}

int64_t power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (int64_t i = 0; i < exponent && result <= kMostNumbers; ++i) result *= base;
  return result;
}

void check_size(int64_t order, int64_t symbols) {
  require(order >= 1, "markov.order={}; a context has at least 1 symbol", order);
  require(symbols >= 2 && symbols <= kMostNumbers, "markov.symbols={}; it is 2 to {}", symbols,
          kMostNumbers);
  require(power(symbols, order + 1) <= kMostNumbers,
          "markov.symbols={} to the power of markov.order={} + 1 is above the {} probabilities "
          "that are kept; take fewer symbols or a lower order",
          symbols, order, kMostNumbers);
}

std::vector<double> zipf_weights(int64_t symbols, double exponent) {
  std::vector<double> weights;
  for (int64_t s = 0; s < symbols; ++s) weights.push_back(std::pow(s + 1, -exponent));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& w : weights) w /= sum;
  return weights;
}

// The distribution that `known` symbols (their number is `suffix`) draw.
void add_drawn(const MarkovConfig& c, std::span<const double> base, int64_t known, int64_t suffix,
               double share, std::span<double> row) {
  double sum = 0;
  for (int64_t i = 1; i <= c.branches; ++i) sum += 1.0 / i;
  const uint64_t key = derive_key(c.seed, fmt::format("markov chain {}", known));
  for (int64_t i = 1; i <= c.branches; ++i) {
    const PhiloxBlock bits = philox(key, suffix, i);
    row[pick(base, uniform_double(bits[0], bits[1]))] += share / (i * sum);
  }
}

std::vector<double> drawn_rows(const MarkovConfig& c) {
  check_size(c.order, c.symbols);
  require(c.branches >= 1 && c.branches <= 1'000'000,
          "markov.branches={}; a context draws 1 to 1000000 successors", c.branches);
  require(std::isfinite(c.zipf) && c.zipf >= 0 && c.zipf <= 10,
          "markov.zipf={}; it is 0 (all alike) to 10", c.zipf);
  const std::vector<double> base = zipf_weights(c.symbols, c.zipf);
  const int64_t contexts = power(c.symbols, c.order);
  const int64_t symbols = c.symbols;
  std::vector<double> rows(contexts * symbols);
  for (int64_t context = 0; context < contexts; ++context) {
    const std::span<double> row(rows.data() + context * symbols, symbols);
    for (int64_t s = 0; s < symbols; ++s) row[s] = kBaseShare * base[s];
    for (int64_t known = 1; known <= c.order; ++known) {
      const double share = (1 - kBaseShare) * 2 * known / (c.order * (c.order + 1));
      add_drawn(c, base, known, context % power(c.symbols, known), share, row);
    }
  }
  return rows;
}

}  // namespace

MarkovChain::MarkovChain(const MarkovConfig& config)
    : MarkovChain(config.order, config.symbols, drawn_rows(config)) {}

MarkovChain::MarkovChain(int64_t order, int64_t symbols, std::vector<double> rows)
    : order_(order), symbols_(symbols), rows_(std::move(rows)) {
  check_size(order, symbols);
  const int64_t contexts = power(symbols, order);
  require(std::ssize(rows_) == contexts * symbols,
          "{} probabilities were given for {} contexts of {} symbols", rows_.size(), contexts,
          symbols);
  for (int64_t context = 0; context < contexts; ++context) {
    double sum = 0;
    for (int64_t s = 0; s < symbols; ++s) {
      const double p = probability(context, narrow<int32_t>(s));
      require(p >= 0, "the probability of symbol {} after context {} is {}", s, context, p);
      sum += p;
    }
    require(std::abs(sum - 1) < 1e-9, "the probabilities after context {} sum to {}", context, sum);
  }
  stationary_.assign(contexts, 1.0 / contexts);
  settle();
  for (int64_t known = 0; known <= order_; ++known) entropies_.push_back(entropy_of_suffix(known));
}

std::vector<double> MarkovChain::after(const std::vector<double>& distribution) const {
  std::vector<double> next(distribution.size());
  for (int64_t context = 0; context < contexts(); ++context)
    for (int32_t s = 0; s < symbols_; ++s)
      next[next_context(context, s)] += distribution[context] * probability(context, s);
  return next;
}

// Half a step at a time, so that a chain that goes in circles comes to rest too.
void MarkovChain::settle() {
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<double> next = after(stationary_);
    double change = 0, sum = 0;
    for (size_t i = 0; i < next.size(); ++i) {
      const double mean = (stationary_[i] + next[i]) / 2;
      change += std::abs(mean - stationary_[i]);
      sum += mean;
      stationary_[i] = mean;
    }
    for (double& p : stationary_) p /= sum;
    if (change < 1e-14) return;
  }
  fail_usage("the chain has not come to rest after {} rounds; take another one", kMostRounds);
}

double MarkovChain::entropy_of_suffix(int64_t known) const {
  const int64_t suffixes = power(symbols_, known);
  std::vector<double> joint(suffixes * symbols_), weights(suffixes);
  for (int64_t context = 0; context < contexts(); ++context) {
    const double weight = stationary_[context];
    weights[context % suffixes] += weight;
    for (int32_t s = 0; s < symbols_; ++s)
      joint[context % suffixes * symbols_ + s] += weight * probability(context, s);
  }
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    double row = 0;
    for (int64_t s = 0; s < symbols_; ++s) row += nats(joint[i * symbols_ + s] / weights[i]);
    sum += weights[i] * row;
  }
  return sum;
}

double MarkovChain::least_loss(int64_t length) const {
  SKEIN_CHECK(length > 0);
  double sum = 0;
  for (int64_t known = 1; known <= std::min(length, order_); ++known) sum += entropy(known);
  return (sum + std::max<int64_t>(0, length - order_) * entropy_rate()) / length;
}

MarkovSampler::MarkovSampler(const MarkovChain& chain, uint64_t seed, uint64_t stream)
    : chain_(chain),
      key_(derive_key(seed, "markov text")),
      stream_(stream),
      context_(pick(chain.stationary(), uniform(0))) {}

double MarkovSampler::uniform(uint64_t index) const {
  const PhiloxBlock bits = philox(key_, stream_, index);
  return uniform_double(bits[0], bits[1]);
}

void MarkovSampler::read(std::span<int32_t> out) {
  for (int32_t& symbol : out) {
    const std::span<const double> row = chain_.row(context_);
    symbol = narrow<int32_t>(pick(row, uniform(++position_)));
    surprise_ -= std::log(row[symbol]);
    context_ = chain_.next_context(context_, symbol);
  }
}

}  // namespace skein::data
