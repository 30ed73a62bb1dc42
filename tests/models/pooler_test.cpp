// How a pooler begins: with the rest where it is pretrained, by its width where it is added to a
// pretrained encoder.
#include <cmath>
#include <gtest/gtest.h>

#include "skein/models/bert/bert.h"

namespace skein {
namespace {

ModelConfig encoder(int64_t width) {
  ModelConfig c;
  c.architecture = &bert_architecture();
  c.norm_placement = NormPlacement::post;
  c.activation = MlpKind::gelu_erf;
  c.vocab_size = 11;
  c.context = 8;
  c.d_model = width;
  c.n_layers = 1;
  bert_options(c).pooler = true;
  return c;
}

ModelConfig classifier(int64_t width, Pool pool) {
  ModelConfig c = encoder(width);
  c.head = Head::sequence;
  c.labels = 150;
  bert_options(c).pool = pool;
  return c;
}

// Of the start values of a weight.
double deviation(const ModelConfig& config, const char* name) {
  Parameters parameters(DType::f32, 0, 1);
  const Bert model(config, {0, 1, true, true, 0}, false, parameters);
  parameters.allocate(false);
  parameters.initialize(5);
  const auto values = parameters.find(name)->value.span<float>();
  double sum = 0, squares = 0;
  for (const float value : values) sum += value, squares += static_cast<double>(value) * value;
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 0.05 * std::sqrt(squares / count)) << name;
  return std::sqrt(squares / count);
}

TEST(PoolerStarts, AreByTheWidthUnderAHeadOfSequences) {
  for (const Pool pool : {Pool::first, Pool::mean})
    for (const int64_t width : {64, 256}) {
      const double fan_in = 1 / std::sqrt(static_cast<double>(width));
      EXPECT_NEAR(deviation(classifier(width, pool), "pooler.weight"), fan_in, 0.05 * fan_in)
          << width;
      EXPECT_NEAR(deviation(classifier(width, pool), "classifier.weight"), 0.02, 0.001) << width;
    }
}

TEST(PoolerStarts, AreThoseOfTheRestInPretraining) {
  for (const int64_t width : {64, 256})
    EXPECT_NEAR(deviation(encoder(width), "pooler.weight"), 0.02, 0.001) << width;
}

}  // namespace
}  // namespace skein
