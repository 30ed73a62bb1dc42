// Text of known entropy: a Markov chain drawn at random, token stores of what it says, and the
// least loss that any model can have on them. It is what the irreducible loss E of a fitted scaling
// law is checked against.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/stores/store.h"

namespace skein::data {

struct MarkovConfig {
  int64_t order = 2;
  int64_t symbols = 64;
  int64_t branches = 4;  // successors that each context draws
  double zipf = 1;       // how unequal: symbol s is drawn with a weight of (s + 1)^-zipf
  uint64_t seed = 1;
};

// A stationary chain over symbols 0 .. V-1. What follows a context of k symbols is drawn from a
// mixture: a tenth from the weights of MarkovConfig::zipf, and 0.9 * 2 j / (k (k + 1)) from the
// successors that the last j symbols drew, j = 1 .. k, of which the i-th has a weight of 1 / i. So
// every symbol can follow, contexts are as unequal as words, and the more of them a model remembers
// the better it is.
class MarkovChain {
 public:
  // A usage error where V^(k+1) is above 2^24.
  explicit MarkovChain(const MarkovConfig& config);
  // rows: V^k x V probabilities; the context (s_1 .. s_k), s_k the latest, has row s_1 V^(k-1) + ..
  // + s_k. Every context must be reachable from every other. A usage error for what is no
  // distribution.
  MarkovChain(int64_t order, int64_t symbols, std::vector<double> rows);

  int64_t order() const { return order_; }
  int64_t symbols() const { return symbols_; }
  // Of `next` after the context with this number.
  double probability(int64_t context, int32_t next) const {
    return rows_[context * symbols_ + next];
  }
  std::span<const double> row(int64_t context) const {
    return std::span(rows_).subspan(context * symbols_, symbols_);
  }
  int64_t next_context(int64_t context, int32_t next) const {
    return (context * symbols_ + next) % contexts();
  }
  int64_t contexts() const { return std::ssize(stationary_); }
  // How often contexts are met in the long run.
  std::span<const double> stationary() const { return stationary_; }

  // Nats a symbol, given the `known` symbols before it: 0 (of single symbols) to order().
  double entropy(int64_t known) const { return entropies_[known]; }
  double entropy_rate() const { return entropies_.back(); }
  // The least mean loss over windows of `length` tokens, whose first positions know fewer symbols
  // than the chain goes by.
  double least_loss(int64_t length) const;

 private:
  void settle();
  std::vector<double> after(const std::vector<double>& distribution) const;
  double entropy_of_suffix(int64_t known) const;

  int64_t order_, symbols_;
  std::vector<double> rows_, stationary_, entropies_;
};

// What a chain says, from its stationary distribution on: a pure function of chain, seed and
// stream.
class MarkovSampler {
 public:
  MarkovSampler(const MarkovChain& chain, uint64_t seed, uint64_t stream);
  void read(std::span<int32_t> out);
  // Of what read() gave, by the chain itself: mean -ln p.
  double mean_surprise() const { return surprise_ / std::max<int64_t>(1, position_); }

 private:
  double uniform(uint64_t index) const;

  const MarkovChain& chain_;
  uint64_t key_, stream_;
  int64_t context_ = 0, position_ = 0;
  double surprise_ = 0;
};

struct MarkovStoreConfig {
  MarkovConfig chain;
  int64_t tokens = 1'000'000;
  int64_t validation_tokens = 100'000;
  int64_t context = 256;  // window whose least loss is told
  std::string output;
  std::string validation;  // "": none
  bool replace = false;    // files that are there already
};
// Binds the fields under sections "markov" and "output".
void bind(Options& options, MarkovStoreConfig& config);

struct MarkovSummary {
  std::vector<double> entropies;  // by known symbols; the last is the rate
  double least_loss = 0;          // of windows of MarkovStoreConfig::context
  // of the tokens written, by the chain itself
  double training_surprise = 0, validation_surprise = 0;
};
// A line for each entropy, in nats a token.
std::string markov_text(const MarkovStoreConfig& config, const MarkovSummary& summary);
// One document each, without tokenizer, and FILE.entropy.json beside output.path: {"order",
// "symbols", "branches", "zipf", "seed", "entropy_rate", "entropies", "context", "least_loss",
// ...}, 17 digits. A usage error for numbers that cannot be.
MarkovSummary make_markov_stores(const MarkovStoreConfig& config);

}  // namespace skein::data
