// Encoder–decoders: gradients of the whole, pieces that may end anywhere, and decoding.
#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/models/architecture.h"
#include "skein/models/description.h"

#include "models/formulas.h"
#include "models/two_sided_batch.h"
#include "support/gradient_check.h"

namespace skein {
namespace {

using test::small_bart;
using test::small_t5;
using test::small_transformer;
using test::small_translator;

std::vector<ModelConfig> all_kinds() {
  std::vector<ModelConfig> all{small_transformer(), small_t5(), small_bart(), small_translator(),
                               small_t5()};
  all[0].positions = Positions::rotary;
  all[0].n_kv_heads = 2;
  all[4].tie_embeddings = false;
  transformer_options(all[4]).share_source = false;
  transformer_options(all[4]).scale_output = false;
  return all;
}

int64_t source_ids(const ModelConfig& c) { return c.architecture->source_ids(c); }

data::Batch some_batch(const ModelConfig& c) {
  return test::two_sided(test::some_pairs(source_ids(c), c.vocab_size), 8, 6);
}

// The model in pieces that end before these blocks, on one rank.
struct Made {
  Made(const ModelConfig& config, const std::vector<int>& ends, DType dtype = DType::f64)
      : parameters(dtype, 0, 1) {
    const auto blocks = static_cast<int>(config.n_layers);
    int first = 0;
    for (const int end : ends) {
      pieces.push_back(config.architecture->piece(
          config, {first, end, first == 0, end == blocks, 0}, false, parameters));
      first = end;
    }
    parameters.allocate(true);
    parameters.initialize(3);
  }

  Flow forward(const Pass& pass) const {
    Flow flow;
    for (const auto& piece : pieces) flow = piece->forward(flow, pass);
    return flow;
  }

  Parameters parameters;
  std::vector<std::unique_ptr<Model>> pieces;
};

LossPass training_pass(Group& alone, const data::Batch& batch) {
  LossPass pass;
  pass.tp = &alone;
  pass.batch = &batch;
  pass.train = true;
  pass.seed = 5;
  return pass;
}

double total(const Losses& losses) {
  double sum = 0;
  for (int64_t i = 0; i < losses.row_weights.size(); ++i)
    sum += losses.rows.value().data<double>()[i] * losses.row_weights.data<double>()[i];
  return sum;
}

// Of a tensor's uses the gradients are summed.
std::vector<double> whole_gradient(const Parameters& parameters, const Parameter& first) {
  std::vector<double> sum(static_cast<size_t>(first.value.size()));
  for (const Parameter& p : parameters.all())
    if (p.tensor() == first.name)
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += p.gradient.data<double>()[i];
  return sum;
}

void check_gradients(const ModelConfig& config, Recompute recompute) {
  const auto alone = single_rank();
  const Made made(config, {static_cast<int>(config.n_layers)});
  const auto objective = made.pieces.back()->objective();
  const data::Batch batch = some_batch(config);
  LossPass pass = training_pass(*alone, batch);
  pass.recompute = recompute;
  const auto loss = [&] {
    const NoGrad no_grad;
    return total(objective->losses(made.forward(pass), pass));
  };
  const Losses losses = objective->losses(made.forward(pass), pass);
  backward(losses.rows, losses.row_weights);
  for (const Parameter& p : made.parameters.all()) {
    if (p.tied()) continue;
    const Tensor gradient = Tensor::from(whole_gradient(made.parameters, p), p.value.shape());
    test::compare_with_differences(p.value, gradient, loss, 2e-6, p.name,
                                   std::max<int64_t>(1, p.value.size() / 5));
  }
}

TEST(Transformers, HaveRightGradients) {
  for (ModelConfig& c : std::vector<ModelConfig>(all_kinds())) {
    SCOPED_TRACE(testing::Message() << c.parameters());
    c.dropout = c.activation_dropout = 0.1;
    check_gradients(c, Recompute::none);
  }
  check_gradients(small_t5(), Recompute::full);
  check_gradients(small_bart(), Recompute::selective);
}

std::vector<std::byte> bytes(const Tensor& x) {
  return {x.bytes_data(), x.bytes_data() + x.bytes()};
}

// Forward alone; what runs backward over pieces is the pipeline's.
TEST(Transformers, GiveTheSameBitsInAnyPieces) {
  const auto alone = single_rank();
  for (const ModelConfig& c : all_kinds()) {
    const data::Batch batch = some_batch(c);
    const LossPass pass = training_pass(*alone, batch);
    const auto expected = bytes(Made(c, {4}).forward(pass).only().value());
    for (const std::vector<int>& ends :
         {std::vector{1, 4}, {2, 4}, {3, 4}, {1, 2, 3, 4}, {1, 3, 4}})
      EXPECT_EQ(bytes(Made(c, ends).forward(pass).only().value()), expected)
          << ends.size() << " pieces, the first of " << ends[0];
  }
}

TEST(Transformers, SayWhatEntersTheirPieces) {
  const auto alone = single_rank();
  for (const ModelConfig& c : all_kinds()) {
    const data::Batch batch = some_batch(c);
    const LossPass pass = training_pass(*alone, batch);
    const Made made(c, {1, 2, 3, 4}, DType::bf16);
    Flow flow;
    for (const auto& piece : made.pieces) {
      if (!flow.empty()) {
        const std::vector<FlowPart> parts = piece->flow_parts(pass);
        ASSERT_EQ(parts.size(), flow.size());
        for (size_t i = 0; i < parts.size(); ++i) {
          EXPECT_EQ(parts[i].shape, flow[i].shape()) << i;
          EXPECT_EQ(parts[i].dtype, flow[i].value().dtype()) << i;
        }
      }
      flow = piece->forward(flow, pass);
    }
  }
}

TEST(Transformers, OfABatchDoNotKnowTheOthersNorThePadding) {
  const auto alone = single_rank();
  for (const ModelConfig& c : all_kinds()) {
    const auto pairs = test::some_pairs(source_ids(c), c.vocab_size);
    const Made made(c, {4});
    const auto features = [&](const std::vector<data::TokenPairs>& rows, int64_t source,
                              int64_t target) {
      const data::Batch batch = test::two_sided(rows, source, target);
      LossPass pass = training_pass(*alone, batch);
      pass.train = false;
      return made.forward(pass).only().value();
    };
    const Tensor all = features(pairs, 8, 6), own = features({pairs[1]}, 3, 2);
    for (int64_t i = 0; i < own.size(); ++i)
      EXPECT_NEAR(all.data<double>()[6 * c.d_model + i], own.data<double>()[i], 1e-12);
    // Pairs in one row are blind to each other.
    const Tensor second = features({{pairs[2][1]}}, 4, 2);
    for (int64_t i = 0; i < second.size(); ++i)
      EXPECT_NEAR(all.data<double>()[(12 + 3) * c.d_model + i], second.data<double>()[i], 1e-12);
  }
}

KvCache empty_cache(const ModelConfig& c, int64_t rows, int64_t sources) {
  KvCache cache;
  const int64_t encoder = transformer_options(c).encoder_layers;
  for (int64_t block = 0; block < c.n_layers; ++block) {
    auto& layer = cache.layers.emplace_back();
    if (block < encoder) continue;
    const Shape shape{rows, c.context, c.kv_heads(), c.head_width()};
    layer.keys = Tensor::zeros(shape, DType::f64);
    layer.values = Tensor::zeros(shape, DType::f64);
  }
  cache.first_key = Tensor::zeros({rows}, DType::i32);
  cache.memory_segments = Tensor::zeros({sources, 6}, DType::i32);
  return cache;
}

// One token after the other, of two rows a source; against the whole without a cache.
void check_decoding(const ModelConfig& c, const std::vector<int>& ends) {
  const auto alone = single_rank();
  const Made made(c, ends);
  const NoGrad no_grad;
  auto pairs = test::some_pairs(source_ids(c), c.vocab_size);
  pairs.resize(2);
  pairs[1][0].labels = test::some_ids(5, 9, c.vocab_size);
  const data::Batch whole = test::two_sided(pairs, 6, 5);
  LossPass pass = training_pass(*alone, whole);
  pass.train = false;
  const Tensor expected = made.forward(pass).only().value();
  KvCache cache = empty_cache(c, 4, 2);
  cache.memory_segments = whole.source.segments;
  for (int64_t step = 0; step < 5; ++step) {
    data::Batch batch;
    if (step == 0) batch.source = whole.source;
    batch.tokens = Tensor::empty({4, 1}, DType::i32);
    batch.positions = data::filled(4, 1, static_cast<int32_t>(step));
    for (int64_t row = 0; row < 4; ++row)
      batch.tokens.data<int32_t>()[row] = *data::row_of<int32_t>(whole.tokens, row / 2, step);
    pass.batch = &batch;
    pass.cache = &cache;
    const Tensor found = made.forward(pass).only().value();
    ASSERT_EQ(found.shape(), (Shape{4, c.d_model}));
    for (int64_t row = 0; row < 4; ++row)
      for (int64_t i = 0; i < c.d_model; ++i)
        EXPECT_NEAR(found.data<double>()[row * c.d_model + i],
                    expected.data<double>()[(row / 2 * 5 + step) * c.d_model + i], 1e-11)
            << "row " << row << ", step " << step;
    cache.length = step + 1;
  }
}

TEST(Transformers, DecodeWithACacheAsWithout) {
  for (const ModelConfig& c : all_kinds())
    for (const std::vector<int>& ends : {std::vector{4}, {1, 2, 3, 4}}) check_decoding(c, ends);
}

TEST(Transformers, HaveTheTensorsOfTheirPieces) {
  for (const ModelConfig& c : all_kinds()) {
    check(c, 1, false);
    EXPECT_EQ(test::by_pieces(c), tensor_shapes(c, whole_piece(c)));
  }
  const TensorShapes t5 = tensor_shapes(small_t5(), whole_piece(small_t5()));
  EXPECT_EQ(t5.at("block.2.cross.q.weight"), (std::vector<int64_t>{12, 8}));
  EXPECT_EQ(t5.at("encoder_distances.weight"), (std::vector<int64_t>{4, 8}));
  EXPECT_TRUE(t5.contains("encoder_norm.gain"));
  EXPECT_FALSE(t5.contains("target.tokens.weight"));
  EXPECT_FALSE(t5.contains("head.weight"));
  const TensorShapes two = tensor_shapes(small_translator(), whole_piece(small_translator()));
  EXPECT_EQ(two.at("embedding.tokens.weight"), (std::vector<int64_t>{13, 8}));
  EXPECT_EQ(two.at("target.tokens.weight"), (std::vector<int64_t>{11, 8}));
  EXPECT_FALSE(two.contains("encoder_norm.gain"));
}

// Start values of T5's program, in deviations.
TEST(Transformers, StartByFanIn) {
  ModelConfig c = small_t5();
  c.d_model = 64;
  c.d_head = 16;
  c.d_ff = 128;
  c.vocab_size = 500;
  Made made(c, {4});
  const auto deviation = [&](const std::string& name) {
    const Tensor& value = made.parameters.find(name)->value;
    double squares = 0;
    for (int64_t i = 0; i < value.size(); ++i)
      squares += value.data<double>()[i] * value.data<double>()[i];
    return std::sqrt(squares / static_cast<double>(value.size()));
  };
  EXPECT_NEAR(deviation("embedding.tokens.weight"), 1, 0.02);
  EXPECT_NEAR(deviation("block.0.attention.q.weight") * std::sqrt(64.0 * 16), 1, 0.05);
  EXPECT_NEAR(deviation("block.3.cross.k.weight") * 8, 1, 0.05);
  EXPECT_NEAR(deviation("block.3.cross.out.weight") * 8, 1, 0.05);
  EXPECT_NEAR(deviation("block.1.mlp.gate.weight") * 8, 1, 0.05);
  EXPECT_NEAR(deviation("block.1.mlp.down.weight") * std::sqrt(128.0), 1, 0.05);
}

void expect_refused(ModelConfig c, const std::function<void(ModelConfig&)>& change,
                    const std::string& words) {
  change(c);
  try {
    check(c, 1, false);
    ADD_FAILURE() << "not refused: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(Transformers, RefuseWhatCannotBe) {
  const ModelConfig c = small_transformer();
  expect_refused(
      c, [](auto& m) { m.n_layers = 1; }, "model.n_layers is 1");
  expect_refused(
      c, [](auto& m) { transformer_options(m).encoder_layers = 4; },
      "model.encoder_layers=4 must be below model.n_layers=4");
  expect_refused(
      c, [](auto& m) { transformer_options(m).source_vocab_size = 12; },
      "model.source_vocab_size=12 and model.vocab_size=11");
  expect_refused(
      c, [](auto& m) { transformer_options(m).source_context = -1; }, "model.source_context is -1");
  expect_refused(
      c, [](auto& m) { transformer_options(m).distance_buckets = 16; },
      "belong to model.positions=distance");
  expect_refused(
      small_t5(), [](auto& m) { transformer_options(m).distance_buckets = 6; },
      "model.distance_buckets=6 must be a multiple of 4");
  expect_refused(
      small_t5(), [](auto& m) { transformer_options(m).distance_max = 4; },
      "model.distance_max=4 must be above 4");
  expect_refused(
      c, [](auto& m) { m.attention = windowed(3); }, "attention.kind=window");
  expect_refused(
      c, [](auto& m) { m.head = Head::token, m.labels = 2; }, "model.head must be vocabulary");
  expect_refused(
      c, [](auto& m) { m.token_types = 2; }, "model.token_types=2");
  expect_refused(
      c, [](auto& m) { m.mup_base_width = 8; }, "model.mup_base_width=8");
  expect_refused(
      c, [](auto& m) { m.architecture = architectures().front(); },
      "for model.architecture=transformer");
  EXPECT_THROW(c.architecture->begin_labels(*std::make_unique<ModelConfig>(c), Head::token, 2),
               Error);
  ModelConfig gpt;
  gpt.vocab_size = 11;
  expect_refused(
      gpt, [](auto& m) { m.positions = Positions::distance; },
      "model.positions=distance is not for model.architecture=gpt");
}

}  // namespace
}  // namespace skein
