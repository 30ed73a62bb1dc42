#include "skein/data/corpus/markov.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/json.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

double binary_entropy(double p) { return -p * std::log(p) - (1 - p) * std::log(1 - p); }

MarkovChain two_symbols() { return {1, 2, {0.7, 0.3, 0.1, 0.9}}; }

TEST(Markov, KnowsTheEntropyOfTwoSymbols) {
  const MarkovChain chain = two_symbols();
  EXPECT_NEAR(chain.stationary()[0], 0.25, 1e-13);
  EXPECT_NEAR(chain.entropy(0), binary_entropy(0.25), 1e-12);
  EXPECT_NEAR(chain.entropy_rate(), 0.25 * binary_entropy(0.3) + 0.75 * binary_entropy(0.1), 1e-12);
  EXPECT_NEAR(chain.least_loss(4), chain.entropy_rate(), 1e-15);
}

TEST(Markov, AContextBeyondTheOrderTellsNothingMore) {
  // Order 2 whose rows go by the latest symbol alone is order 1.
  const MarkovChain chain(2, 2, {0.7, 0.3, 0.1, 0.9, 0.7, 0.3, 0.1, 0.9});
  EXPECT_NEAR(chain.entropy(1), two_symbols().entropy_rate(), 1e-12);
  EXPECT_NEAR(chain.entropy(2), chain.entropy(1), 1e-12);
}

TEST(Markov, ComesToRestThoughItGoesInCircles) {
  const MarkovChain chain(1, 2, {0, 1, 1, 0});
  EXPECT_NEAR(chain.entropy(0), std::log(2), 1e-12);
  EXPECT_EQ(chain.entropy_rate(), 0);
}

TEST(Markov, IsStationaryAndEachSymbolKnownHelps) {
  MarkovConfig config;
  config.symbols = 12;
  config.order = 3;
  const MarkovChain chain(config);
  std::vector<double> next(static_cast<size_t>(chain.contexts()));
  for (int64_t context = 0; context < chain.contexts(); ++context) {
    EXPECT_NEAR(std::accumulate(chain.row(context).begin(), chain.row(context).end(), 0.0), 1,
                1e-12);
    for (int32_t s = 0; s < chain.symbols(); ++s) {
      EXPECT_GT(chain.probability(context, s), 0);
      next[static_cast<size_t>(chain.next_context(context, s))] +=
          chain.stationary()[static_cast<size_t>(context)] * chain.probability(context, s);
    }
  }
  for (size_t i = 0; i < next.size(); ++i) EXPECT_NEAR(next[i], chain.stationary()[i], 1e-12);
  for (int64_t known = 1; known <= 3; ++known)
    EXPECT_LT(chain.entropy(known), chain.entropy(known - 1) - 0.04);
  EXPECT_NEAR(chain.least_loss(10),
              (chain.entropy(1) + chain.entropy(2) + 8 * chain.entropy(3)) / 10, 1e-12);
  EXPECT_EQ(chain.least_loss(1), chain.entropy(1));
}

TEST(Markov, DependsOnTheSeedAlone) {
  MarkovConfig config;
  const double rate = MarkovChain(config).entropy_rate();
  EXPECT_EQ(MarkovChain(config).entropy_rate(), rate);
  EXPECT_NEAR(rate, 1.9895654512662, 1e-12);
  config.seed = 2;
  EXPECT_NE(MarkovChain(config).entropy_rate(), rate);
}

// Counts of what was said, with no help of the chain's own numbers.
double counted_entropy(const std::vector<int32_t>& said, size_t known) {
  std::map<std::vector<int32_t>, std::map<int32_t, double>> counts;
  for (size_t i = known; i < said.size(); ++i) {
    const auto at = said.begin() + static_cast<std::ptrdiff_t>(i);
    counts[{at - static_cast<std::ptrdiff_t>(known), at}][*at] += 1;
  }
  double sum = 0;
  for (const auto& [context, row] : counts) {
    double total = 0;
    for (const auto& [symbol, count] : row) total += count;
    for (const auto& [symbol, count] : row) sum -= count * std::log(count / total);
  }
  return sum / static_cast<double>(said.size() - known);
}

TEST(Markov, WhatItSaysHasTheEntropyItTells) {
  MarkovConfig config;
  config.symbols = 6;
  const MarkovChain chain(config);
  MarkovSampler sampler(chain, 3, 0);
  std::vector<int32_t> said(400'000);
  sampler.read(said);
  for (int64_t known = 0; known <= 2; ++known)
    EXPECT_NEAR(counted_entropy(said, static_cast<size_t>(known)), chain.entropy(known), 0.004)
        << known;
  EXPECT_NEAR(sampler.mean_surprise(), chain.entropy_rate(), 0.004);
}

TEST(Markov, SaysTheSameInPieces) {
  const MarkovChain chain = two_symbols();
  std::vector<int32_t> whole(1000), pieces(1000), other(1000);
  MarkovSampler(chain, 1, 0).read(whole);
  MarkovSampler(chain, 1, 1).read(other);
  MarkovSampler sampler(chain, 1, 0);
  sampler.read({pieces.data(), 1});
  sampler.read({pieces.data() + 1, 999});
  EXPECT_EQ(whole, pieces);
  EXPECT_NE(whole, other);
}

TEST(Markov, RefusesWhatIsNoChain) {
  const auto with = [](auto change) {
    MarkovConfig config;
    change(config);
    return [config] { MarkovChain chain(config); };
  };
  test::expect_error(ExitCode::usage, {"markov.order=0"}, with([](auto& c) { c.order = 0; }));
  test::expect_error(ExitCode::usage, {"markov.symbols=1"}, with([](auto& c) { c.symbols = 1; }));
  test::expect_error(ExitCode::usage, {"markov.symbols=64", "markov.order=4", "16777216"},
                     with([](auto& c) { c.order = 4; }));
  test::expect_error(ExitCode::usage, {"16777216"},
                     with([](auto& c) { c.order = 1'000'000'000'000; }));
  test::expect_error(ExitCode::usage, {"markov.branches=0"}, with([](auto& c) { c.branches = 0; }));
  test::expect_error(ExitCode::usage, {"markov.zipf=nan"},
                     with([](auto& c) { c.zipf = std::nan(""); }));
  test::expect_error(ExitCode::usage, {"context 0", "sum to 0.9"}, [] {
    MarkovChain(1, 2, {0.5, 0.4, 0.5, 0.5});
  });
  test::expect_error(ExitCode::usage, {"symbol 1", "-0.5"}, [] {
    MarkovChain(1, 2, {1.5, -0.5, 0.5, 0.5});
  });
  test::expect_error(ExitCode::usage, {"2 probabilities"}, [] { MarkovChain(1, 2, {1, 0}); });
}

TEST(Markov, StoresSayWhatTheyHold) {
  const test::Scratch scratch;
  MarkovStoreConfig config;
  config.chain.symbols = 8;
  config.tokens = 70'000;
  config.validation_tokens = 3'000;
  config.context = 16;
  config.output = scratch.file("train.h5");
  config.validation = scratch.file("valid.h5");
  const MarkovSummary summary = make_markov_stores(config);
  EXPECT_EQ(scratch.entries(), 3);
  const TokenStore store(config.output, true), held_out(config.validation, true);
  EXPECT_EQ(store.info().tokens, 70'000);
  EXPECT_EQ(store.info().vocab_size, 8);
  EXPECT_EQ(store.documents().size(), 2u);
  EXPECT_EQ(held_out.info().tokens, 3'000);
  std::vector<int32_t> stored(70'000), said(70'000);
  store.read(0, stored);
  MarkovSampler(MarkovChain(config.chain), config.chain.seed, 0).read(said);
  EXPECT_EQ(stored, said);
  std::ifstream file(config.output + ".entropy.json");
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json.at("entropy_rate").get<double>(), summary.entropies.back());
  EXPECT_EQ(json.at("least_loss").get<double>(), MarkovChain(config.chain).least_loss(16));
  EXPECT_EQ(json.at("entropies").size(), 3u);
  EXPECT_NE(markov_text(config, summary)
                .find(fmt::format("{:.10f} nats a token", summary.entropies.back())),
            std::string::npos);
}

TEST(Markov, StoresRefuseWhatCannotBe) {
  const test::Scratch scratch;
  const auto with = [&](auto change) {
    MarkovStoreConfig config;
    config.output = scratch.file("a.h5");
    change(config);
    return [config] { make_markov_stores(config); };
  };
  test::expect_error(ExitCode::usage, {"output.path"}, with([](auto& c) { c.output = ""; }));
  test::expect_error(ExitCode::usage, {"output.validation", "destroy"},
                     with([](auto& c) { c.validation = c.output; }));
  test::expect_error(ExitCode::usage, {"output.path=/dev/null is a device"},
                     with([](auto& c) { c.output = "/dev/null", c.replace = true; }));
  test::expect_error(ExitCode::usage, {"markov.tokens=0"}, with([](auto& c) { c.tokens = 0; }));
  test::expect_error(ExitCode::usage, {"markov.context=0"}, with([](auto& c) { c.context = 0; }));
  EXPECT_EQ(scratch.entries(), 0);
}

TEST(Markov, StoresAreReplacedOnlyWhereAskedFor) {
  const test::Scratch scratch;
  MarkovStoreConfig config;
  config.tokens = 100;
  config.chain.symbols = 8;
  config.output = scratch.file("a.h5");
  test::write_file(config.output + ".entropy.json", "{}");
  const auto made = [&] { make_markov_stores(config); };
  test::expect_error(ExitCode::usage,
                     {"a.h5.entropy.json, which exists already", "--output.replace"}, made);
  std::filesystem::remove(config.output + ".entropy.json");
  made();
  const std::string before = test::bytes_of_file(config.output);
  config.chain.seed = 2;
  test::expect_error(ExitCode::usage, {"a.h5, which exists already", "--output.replace"}, made);
  EXPECT_TRUE(test::bytes_of_file(config.output) == before);
  config.replace = true;
  made();
  EXPECT_FALSE(test::bytes_of_file(config.output) == before);
}

}  // namespace
}  // namespace skein::data
