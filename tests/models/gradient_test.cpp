// Gradients of the whole GPT and of its options against central differences in f64.
#include "support/gradient_check.h"

#include "skein/comm/local.h"
#include "skein/models/gpt.h"

namespace skein {
namespace {

Batch small_batch(int64_t vocab) {
  const int64_t batch = 2, length = 5;
  std::vector<int32_t> tokens, targets, positions, segments;
  for (int i = 0; i < batch * length; ++i) {
    tokens.push_back(static_cast<int32_t>((i * 7 + 3) % vocab));
    targets.push_back(static_cast<int32_t>((i * 5 + 1) % vocab));
    positions.push_back(static_cast<int32_t>(i % length));
    segments.push_back(i % length > 2);
  }
  std::vector<float> weights(static_cast<size_t>(batch * length), 1.0f);
  weights[3] = 0;
  const Shape shape{batch, length};
  return {Tensor::from(tokens, shape), Tensor::from(targets, shape), Tensor::from(weights, shape),
          Tensor::from(positions, shape), Tensor::from(segments, shape), Tensor::from(std::vector<int64_t>{4, 9}, {2})};
}

void check_gradients(ModelConfig config) {
  config.vocab_size = 11;
  config.context = 8;
  config.d_model = 8;
  config.n_layers = 2;
  config.n_heads = 4;
  config.d_ff = 12;
  config.init_std = 0.3;
  const auto alone = single_rank();
  Parameters parameters(DType::f64, 0, 1);
  const Gpt model(config, {0, 2, true, true, 0}, false, parameters);
  parameters.allocate(true);
  parameters.initialize(3);
  const NextToken objective(model);
  const Batch batch = small_batch(config.vocab_size);
  Pass pass;
  pass.tp = alone.get();
  pass.batch = &batch;
  pass.train = true;
  pass.seed = 5;
  const auto loss = [&] {
    const NoGrad no_grad;
    const Losses losses = objective.losses(model.forward({}, pass), pass);
    double sum = 0;
    for (int64_t i = 0; i < 10; ++i) sum += losses.rows.value().data<double>()[i] * batch.weights.data<float>()[i];
    return sum;
  };
  const Losses losses = objective.losses(model.forward({}, pass), pass);
  backward(losses.rows, losses.row_weights);
  for (const Parameter& p : parameters.all()) {
    if (p.tied()) continue;
    for (const Parameter& second : parameters.all())
      if (second.tied_to == p.name)
        for (int64_t i = 0; i < p.value.size(); ++i) p.gradient.data<double>()[i] += second.gradient.data<double>()[i];
    test::compare_with_differences(p.value, p.gradient, loss, 1e-6, p.name, std::max<int64_t>(1, p.value.size() / 7));
  }
}

TEST(Gradients, Gpt2) { check_gradients({}); }

TEST(Gradients, Dropout) {
  ModelConfig c;
  c.dropout = 0.2;
  check_gradients(c);
}

TEST(Gradients, Llama) {
  ModelConfig c;
  c.positions = Positions::rotary;
  c.norm = ops::Norm::rms;
  c.activation = MlpKind::swiglu;
  c.n_kv_heads = 2;
  c.bias = false;
  c.tie_embeddings = false;
  check_gradients(c);
}

TEST(Gradients, LlamaWithStretchedPositionsAndBiasesOfAttention) {
  ModelConfig c;
  c.positions = Positions::rotary;
  c.rope_scaling = RopeScaling::llama3;
  c.rope_factor = 8;
  c.rope_context = 16;
  c.d_head = 4;
  c.norm = ops::Norm::rms;
  c.activation = MlpKind::swiglu;
  c.bias = false;
  c.attention_bias = true;
  check_gradients(c);
}

TEST(Gradients, PostNormSinusoidalErf) {
  ModelConfig c;
  c.positions = Positions::sinusoidal;
  c.norm_placement = NormPlacement::post;
  c.activation = MlpKind::gelu_erf;
  check_gradients(c);
}

TEST(Gradients, SlidingWindow) {
  ModelConfig c;
  c.window = 3;
  check_gradients(c);
}

TEST(Gradients, Relu) {
  ModelConfig c;
  c.activation = MlpKind::relu;
  check_gradients(c);
}

}  // namespace
}  // namespace skein
