// Options of models that cannot be, and what others mean.
#include "skein/models/config.h"

#include <gtest/gtest.h>

#include "skein/core/error.h"
#include "skein/models/bert/bert.h"
#include "skein/models/transformer/transformer.h"

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

TEST(ModelOptions, RefusesLayoutsThatCannotBe) {
  ModelConfig c = small();
  c.attention_out_bias = c.bias = false;
  expect_refused(c,
                 "model.attention_out_bias=false takes away a bias that attention has with "
                 "model.bias or model.attention_bias; give one of them, or leave it out");
  c = small();
  c.qk_norm = true;
  EXPECT_NO_THROW(check(c, 1, false));
  c.attention.kinds = {"lsh"};
  c.attention.windows = {8};
  expect_refused(c,
                 "model.qk_norm=true has norms of queries and of keys, which are one with "
                 "attention.kind=lsh; leave it out");
  c.architecture = &bert_architecture();
  c.attention.kinds = {"global"};
  expect_refused(c,
                 "model.qk_norm=true has no norm for the further queries and keys of an encoder "
                 "with attention.kind=global; leave it out");
  c = small();
  c.architecture = &transformer_architecture();
  c.qk_norm = true;
  expect_refused(c,
                 "attention with model.attention_out_bias=true, model.qk_norm=true and "
                 "model.parallel_blocks=false is for model.architecture=gpt and bert, not "
                 "transformer; leave them out");
  c = small();
  c.parallel_blocks = true;
  c.norm_placement = NormPlacement::post;
  expect_refused(c, "model.parallel_blocks=true needs model.norm_placement=pre");
  c = small();
  c.norm_placement = NormPlacement::sandwich;
  c.score_width = 7;
  EXPECT_NO_THROW(check(c, 1, false));
  c.mup_base_width = 64;
  expect_refused(c,
                 "model.score_width=7 and model.mup_base_width=64 both say what scores are divided "
                 "by; leave one of them out");
  c.mup_base_width = 0;
  c.architecture = &transformer_architecture();
  expect_refused(c,
                 "model.score_width=7 is for model.architecture=gpt and bert, not transformer; "
                 "leave it out");
  c.score_width = 0;
  expect_refused(c,
                 "model.norm_placement=sandwich is for model.architecture=gpt, not transformer; "
                 "give pre or post");
}

TEST(ModelOptions, RefusesPositionsThatCannotTurn) {
  ModelConfig c = small();
  c.rope_width = 8;
  expect_refused(c,
                 "model.rope_scaling and model.rope_width=8 are of rotary positions; give "
                 "model.positions=rotary with them");
  c.positions = Positions::rotary;
  EXPECT_NO_THROW(check(c, 1, false));
  for (const int64_t width : {7, 66}) {
    c.rope_width = width;
    expect_refused(c, fmt::format("model.rope_width={} must be an even number, at most the head "
                                  "width 64 (model.d_head)",
                                  width));
  }
  c.rope_width = 0;
  c.rope_amplitude = 2;
  expect_refused(c,
                 "model.rope_amplitude=2 must be 0 or above, and is for model.rope_scaling=yarn "
                 "and longrope; leave it out");
  c.rope_scaling = RopeScaling::yarn;
  EXPECT_NO_THROW(check(c, 1, false));
  c.rope_theta = 1;
  expect_refused(c, "model.rope_theta=1 must be above 1 with model.rope_scaling=yarn");
}

TEST(ModelOptions, RefusesFactorsOfPositionsThatDoNotFit) {
  ModelConfig c = small();
  c.rope_factors = {1, 2};
  const std::string others =
      "model.rope_factors has 2 numbers, which are for model.rope_scaling=longrope; leave them out";
  expect_refused(c, others);
  c.positions = Positions::rotary;
  expect_refused(c, others);
  c.rope_scaling = RopeScaling::longrope;
  expect_refused(c,
                 "model.rope_factors has 2 numbers; model.rope_scaling=longrope needs 32, one for "
                 "each pair of numbers of a head that turns");
  c.rope_width = 4;
  EXPECT_NO_THROW(check(c, 1, false));
  c.rope_factors = {1, 0};
  expect_refused(c, "model.rope_factors has 0; all must be above 0");
  c.rope_factors = {1, 2};
  c.rope_context = c.context - 1;
  expect_refused(c, fmt::format("model.context={} must be at most model.rope_context={} with "
                                "model.rope_scaling=longrope, whose longer texts have other "
                                "factors; leave texts at that length",
                                c.context, c.rope_context));
}

TEST(ModelOptions, BlocksWithWindowsMayHavePositionsOfTheirOwn) {
  ModelConfig c = small();
  c.positions = Positions::rotary;
  c.rope_scaling = RopeScaling::linear;
  c.rope_factor = 8;
  c.rope_window_theta = 50;
  expect_refused(c,
                 "model.rope_window_theta=50 must be 0 or above, and is for "
                 "model.positions=rotary and blocks of attention.kind=window; leave it out");
  c.attention.kinds = {"window", "full"};
  c.attention.windows = {8};
  EXPECT_NO_THROW(check(c, 1, false));
  EXPECT_EQ(rotary_waves(c, SightKind::window).theta, 50);
  EXPECT_EQ(rotary_waves(c, SightKind::window).scaling, RopeScaling::none);
  EXPECT_EQ(rotary_waves(c).theta, 10000);
  EXPECT_EQ(rotary_waves(c).factor, 8);
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

TEST(ModelOptions, SayAModelARunOrAStart) {
  std::vector<std::string> of_run, of_start;
  ModelConfig c = small();
  Options options("", "");
  bind(options, c);
  for (const auto& [key, value] : options.values()) {
    if (option_of(key) == OptionOf::run) of_run.push_back(key);
    if (option_of(key) == OptionOf::start) of_start.push_back(key);
    EXPECT_NE(option_of(key), OptionOf::others) << key;
  }
  EXPECT_EQ(of_run,
            (std::vector<std::string>{"model.dropout", "model.attention_dropout",
                                      "model.activation_dropout", "model.stochastic_depth"}));
  EXPECT_EQ(of_start, (std::vector<std::string>{"model.head_std", "model.init_std"}));
  EXPECT_EQ(option_of("attention.kind"), OptionOf::model);
  EXPECT_EQ(option_of("train.steps"), OptionOf::others);
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
