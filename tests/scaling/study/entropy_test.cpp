// A model of text whose entropy is known must come down towards it and cannot come below.
#include <gtest/gtest.h>

#include "skein/data/corpus/markov.h"

#include "train/train_fixture.h"

namespace skein::scaling::study {
namespace {

TEST(EntropyRate, IsWhereASmallModelComesToRest) {
  const test::Scratch folder;
  data::MarkovStoreConfig text;
  text.chain.order = 1;
  text.chain.symbols = 16;
  text.tokens = 200'000;
  text.validation_tokens = 40'000;
  text.context = 16;
  text.output = folder.file("train.h5");
  text.validation = folder.file("valid.h5");
  const data::MarkovSummary summary = make_markov_stores(text);
  train::PretrainConfig c = train::small_config(text.output);
  c.data.validation = {text.validation};
  c.model.n_layers = 1;
  c.model.dropout = 0;
  c.train.steps = 600;
  c.train.global_batch = 16;
  c.train.micro_batch = 4;
  c.lr.lr = 1e-2;
  c.lr.min_lr = 1e-4;
  c.validation.every = 0;
  c.validation.eval.windows = 0;
  double loss = 0;
  run_ranks(1, [&](Group& world) { loss = -pretrain(c, world).validation.quality; });
  // Of the very tokens that were held out, the chain's own surprise instead of its mean.
  const double floor = summary.least_loss + summary.validation_surprise - summary.entropies.back();
  EXPECT_LT(loss, summary.entropies[0] - 0.3);
  EXPECT_LT(loss, floor + 0.05);
  EXPECT_GT(loss, floor - 0.005);
}

}  // namespace
}  // namespace skein::scaling::study
