// Options of models that cannot be, and what others mean.
#include "skein/models/config.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"

namespace skein {
namespace {

ModelConfig small() {
  ModelConfig c;
  c.vocab_size = 64;
  return c;
}

void expect_refused(const ModelConfig& c, const std::string& words) {
  try {
    check(c, 1, false);
    ADD_FAILURE() << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(std::string(error.what()), words);
  }
}

TEST(ModelOptions, RefusesWhatCannotBe) {
  ModelConfig c = small();
  EXPECT_NO_THROW(check(c, 1, false));
  c.sinusoids = kernels::Sinusoid::pairs;
  expect_refused(c,
                 "model.sinusoids=pairs lays out sinusoidal positions; give "
                 "model.positions=sinusoidal with it");
  c = small();
  c.attention_dropout = 1;
  expect_refused(c, "model.attention_dropout is 1; it must be below 1");
  c = small();
  c.activation_dropout = -0.5;
  expect_refused(c, "model.activation_dropout is -0.5; it must be in [0, 1)");
  c = small();
  c.stochastic_depth = 1;
  expect_refused(c, "model.stochastic_depth is 1; it must be in [0, 1)");
}

TEST(ModelOptions, AttentionDropsAsAllUnlessToldOtherwise) {
  ModelConfig c = small();
  EXPECT_FALSE(c.drops());
  c.dropout = 0.1;
  EXPECT_EQ(c.dropout_of_attention(), 0.1);
  c.attention_dropout = 0;
  EXPECT_EQ(c.dropout_of_attention(), 0);
  EXPECT_TRUE(c.drops());
  ModelConfig other = small();
  other.activation_dropout = other.stochastic_depth = 0.2;
  EXPECT_TRUE(other.drops());
  other.take_dropout(c);
  EXPECT_EQ(other.dropout, 0.1);
  EXPECT_EQ(other.attention_dropout, 0);
  EXPECT_EQ(other.activation_dropout, 0);
  EXPECT_EQ(other.stochastic_depth, 0);
}

TEST(ModelOptions, ActivationsHaveNames) {
  ModelConfig c = small();
  for (const char* name :
       {"gelu_tanh", "gelu_erf", "relu", "silu", "swiglu", "geglu_tanh", "geglu_erf", "reglu"}) {
    Options options("", "");
    bind(options, c);
    options.set("model.activation", name, "here");
    EXPECT_EQ(is_gated(c.activation), std::string(name).find("glu") != std::string::npos) << name;
  }
}

}  // namespace
}  // namespace skein
