// Gradients of the whole GPT and of its options against central differences in f64.
#include "skein/data/images/hidden_patches.h"
#include "skein/models/architecture.h"
#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"
#include "skein/models/mae/mae.h"
#include "skein/models/swin/swin.h"
#include "skein/models/vit/vit.h"

#include "models/model_gradients.h"

namespace skein {
namespace {

using test::check_gradients_of;

data::Batch small_batch(int64_t vocab) {
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
  data::Batch made;
  made.tokens = Tensor::from(tokens, shape);
  made.targets = Tensor::from(targets, shape);
  made.weights = Tensor::from(weights, shape);
  made.positions = Tensor::from(positions, shape);
  made.segments = Tensor::from(segments, shape);
  made.sample_ids = Tensor::from(std::vector<int64_t>{4, 9}, {2});
  return made;
}

ModelConfig small(ModelConfig config) {
  config.vocab_size = 11;
  config.context = 8;
  config.d_model = 8;
  config.n_layers = 2;
  config.n_heads = 4;
  config.d_ff = 12;
  config.init_std = 0.3;
  return config;
}

ModelConfig small_vit(bool class_token, Positions positions) {
  ModelConfig made = small({});
  made.architecture = &vit_architecture();
  made.vocab_size = 0;
  made.positions = positions;
  made.head = Head::sequence;
  made.labels = 3;
  picture_options(made) = {.image_height = 4, .image_width = 6, .channels = 1, .patch_height = 2};
  vit_options(made) = {.class_token = class_token, .pool = class_token ? Pool::first : Pool::mean};
  made.context = class_token ? 7 : 6;
  return made;
}

data::Batch picture_batch(int64_t patches, bool class_token = false) {
  const int64_t tokens = patches + (class_token ? 1 : 0);
  data::Batch made;
  made.tokens = Tensor::zeros({2, tokens}, DType::i32);
  made.positions = Tensor::zeros({2, tokens}, DType::i32);
  for (int64_t i = 0; i < 2 * tokens; ++i)
    made.positions.data<int32_t>()[i] = static_cast<int32_t>(i % tokens);
  made.features = test::random_tensor({2, patches, 4}, 5, DType::f32);
  made.targets = Tensor::from(std::vector<int32_t>{2, 0}, {2, 1});
  made.weights = Tensor::from(std::vector<float>{1, 1}, {2, 1});
  made.sample_ids = Tensor::from(std::vector<int64_t>{4, 9}, {2});
  return made;
}

void check_gradients(const ModelConfig& config) {
  check_gradients_of(small(config), small_batch(11));
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

TEST(Gradients, NormsOfHeadsAndPositionsStretchedByYarn) {
  ModelConfig c;
  c.positions = Positions::rotary;
  c.rope_scaling = RopeScaling::yarn;
  c.rope_factor = 8;
  c.rope_context = 16;
  c.rope_high_frequency = 32;
  c.norm = ops::Norm::rms;
  c.activation = MlpKind::swiglu;
  c.bias = c.attention_out_bias = false;
  c.attention_bias = c.qk_norm = true;
  check_gradients(c);
}

TEST(Gradients, NormsOfWhatSublayersMakeWithZeroCenteredGains) {
  ModelConfig c;
  c.positions = Positions::rotary;
  c.rope_window_theta = 50;
  c.norm = ops::Norm::rms_zero_centered;
  c.norm_placement = NormPlacement::sandwich;
  c.activation = MlpKind::geglu_tanh;
  c.bias = false;
  c.qk_norm = c.scale_embeddings = true;
  c.score_width = 7;
  c.attention.kinds = {"window", "full"};
  c.attention.windows = {2};
  check_gradients(c);
}

TEST(Gradients, ParallelBlocksThatTurnHalfOfEachHead) {
  ModelConfig c;
  c.positions = Positions::rotary;
  c.d_head = 8;
  c.rope_width = 4;
  c.parallel_blocks = true;
  check_gradients(c);
}

TEST(Gradients, PostNormSinusoidalErf) {
  ModelConfig c;
  c.positions = Positions::sinusoidal;
  c.norm_placement = NormPlacement::post;
  c.activation = MlpKind::gelu_erf;
  check_gradients(c);
}

TEST(Gradients, ScaledEmbeddingsPairsOfSinusoidsAndAGate) {
  ModelConfig c;
  c.positions = Positions::sinusoidal;
  c.sinusoids = kernels::Sinusoid::pairs;
  c.scale_embeddings = true;
  c.activation = MlpKind::geglu_tanh;
  c.attention_dropout = 0.1;
  c.activation_dropout = 0.3;
  check_gradients(c);
}

TEST(Gradients, OtherGatesAndSilu) {
  for (MlpKind kind : {MlpKind::geglu_erf, MlpKind::reglu, MlpKind::silu}) {
    ModelConfig c;
    c.activation = kind;
    check_gradients(c);
  }
}

TEST(Gradients, SlidingWindow) {
  ModelConfig c;
  c.attention = windowed(3);
  check_gradients(c);
}

// One for decoders, whose windows may be odd.
std::vector<AttentionOptions> structures(int64_t window) {
  std::vector<AttentionOptions> made(6);
  made[0].kinds = {"global", "full"};
  made[0].windows = {window};
  made[0].other.marks = {.first = 1, .every = 3};
  made[1].kinds = {"bigbird"};
  made[1].other.block = 1, made[1].other.random = 1;
  made[2].kinds = {"bigbird"};
  made[2].other.block = 1, made[2].other.random = 0, made[2].other.drawn = false;
  made[3].kinds = {"fixed"};
  made[3].other.block = 1, made[3].other.stretch = 2;
  made[4].kinds = {"lsh"};
  made[4].windows = {2 * window};
  made[4].other.sides = {2};
  made[5].kinds = {"lsh"};
  made[5].other.block = 2, made[5].other.same_bucket = false, made[5].other.sides = {2};
  return made;
}

TEST(Gradients, StructuresOfDecoders) {
  for (const AttentionOptions& attention : structures(2)) {
    ModelConfig c;
    c.attention = attention;
    c.attention_dropout = 0.2;
    c.positions = Positions::rotary;
    check_gradients(c);
  }
}

TEST(Gradients, Relu) {
  ModelConfig c;
  c.activation = MlpKind::relu;
  check_gradients(c);
}

ModelConfig encoder() {
  ModelConfig c = small({});
  c.architecture = &bert_architecture();
  c.norm_placement = NormPlacement::post;
  c.activation = MlpKind::gelu_erf;
  c.embedding_norm = true;
  c.token_types = 2;
  c.position_offset = 2;
  return c;
}

// Two of five places are masked in the first sample, one in the second, whose last token is
// padding.
data::Batch masked_batch() {
  data::Batch batch = small_batch(11);
  batch.targets = Tensor::from(std::vector<int32_t>{4, 7, 2, 0}, {2, 2});
  batch.weights = Tensor::from(std::vector<float>{1, 1, 1, 0}, {2, 2});
  batch.places = Tensor::from(std::vector<int32_t>{1, 4, 0, -1}, {2, 2});
  batch.segments = Tensor::from(std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, -1}, {2, 5});
  batch.types = Tensor::from(std::vector<int32_t>{0, 0, 1, 1, 1, 0, 0, 0, 1, 0}, {2, 5});
  return batch;
}

TEST(Gradients, Bert) {
  ModelConfig c = encoder();
  bert_options(c).pooler = true;
  c.dropout = 0.1;
  data::Batch batch = masked_batch();
  batch.pair_labels = Tensor::from(std::vector<int32_t>{1, 0}, {2});
  check_gradients_of(c, batch);
}

// Longformer's marked tokens are of another number in each sample, and have projections.
TEST(Gradients, StructuresOfEncoders) {
  for (AttentionOptions& attention : structures(2)) {
    ModelConfig c = encoder();
    c.attention = attention;
    c.attention.other.marks.token = attention.kinds[0] == "global" ? 6 : -1;
    c.attention_dropout = 0.2;
    check_gradients_of(c, masked_batch());
    c.positions = Positions::rotary;
    check_gradients_of(c, masked_batch());
  }
}

TEST(Gradients, RobertaWithADecoderOfItsOwn) {
  ModelConfig c = encoder();
  c.tie_embeddings = false;
  data::Batch batch = masked_batch();
  batch.types = {};
  check_gradients_of(c, batch);
}

TEST(Gradients, EncoderWithAnotherActivationInItsHead) {
  ModelConfig c = encoder();
  c.activation = MlpKind::relu;
  bert_options(c).head_activation = MlpKind::gelu_erf;
  check_gradients_of(c, masked_batch());
}

data::Batch labelled_batch(bool tokens) {
  data::Batch batch = masked_batch();
  batch.targets = Tensor::from(
      tokens ? std::vector<int32_t>{2, 0, 1, 0} : std::vector<int32_t>{2, 1}, {2, tokens ? 2 : 1});
  if (tokens) return batch;
  batch.weights = Tensor::from(std::vector<float>{1, 1}, {2, 1});
  batch.places = Tensor::from(std::vector<int32_t>{4, 3}, {2, 1});
  return batch;
}

TEST(Gradients, HeadsOfLabels) {
  for (const Head head : {Head::sequence, Head::token}) {
    ModelConfig bert = encoder(), gpt = small({});
    bert.head = gpt.head = head;
    bert.labels = gpt.labels = 3;
    bert_options(bert).pooler = head == Head::sequence;
    bert.dropout = gpt.dropout = 0.1;
    check_gradients_of(bert, labelled_batch(head == Head::token));
    check_gradients_of(gpt, labelled_batch(head == Head::token));
    if (head == Head::token) continue;
    bert_options(bert).pool = Pool::mean;
    check_gradients_of(bert, labelled_batch(false));
  }
}

TEST(Gradients, VitWithAClassToken) {
  const ModelConfig config = small_vit(true, Positions::learned);
  check(config, 1, false);
  check_gradients_of(config, picture_batch(6, true));
}

TEST(Gradients, VitOfMeansAndWaves) {
  ModelConfig config = small_vit(false, Positions::sinusoidal);
  config.embedding_norm = true;
  config.norm_placement = NormPlacement::post;
  check(config, 1, false);
  check_gradients_of(config, picture_batch(6));
}

TEST(Gradients, VitOfMeansBesideAClassToken) {
  ModelConfig config = small_vit(true, Positions::learned);
  config.own.get<VitOptions>().pool = Pool::mean;
  config.dropout = 0.2;
  check_gradients_of(config, picture_batch(6, true));
}

// Windows that do not fill their grid, shifted ones, and a second stage.
TEST(Gradients, Swin) {
  ModelConfig config = small_vit(false, Positions::distance);
  vit_options(config) = {};
  config.architecture = &swin_architecture();
  picture_options(config).image_height = 10;
  picture_options(config).image_width = 14;
  swin_options(config) = {.depths = {2, 1}, .window_side = 3};
  config.context = 35;
  config.n_layers = 3;
  config.embedding_norm = true;
  config.stochastic_depth = 0.4;
  config.dropout = 0.1;
  check(config, 1, false);
  check_gradients_of(config, picture_batch(35));
}

// Three of six patches are seen.
TEST(Gradients, Mae) {
  ModelConfig config = small_vit(true, Positions::sinusoidal);
  config.architecture = &mae_architecture();
  config.head = Head::vocabulary;
  config.labels = 0;
  config.n_layers = 3;
  config.context = 4;
  config.dropout = 0.1;
  mae_options(config) = {
      .decoder_layers = 1, .decoder_heads = 2, .decoder_width = 8, .mask_ratio = 0.5};
  check(config, 1, false);
  const data::PictureForm form = config.architecture->picture_form(config);
  const data::Batch batch = data::hiding_batch(2, form);
  const std::vector<double> noise{0.5, 0.1, 0.9, 0.2, 0.8, 0.3},
      other{0.1, 0.2, 0.7, 0.8, 0.3, 0.9};
  const Tensor numbers = test::random_tensor({2, 24}, 5, DType::f32);
  for (int64_t row = 0; row < 2; ++row)
    fill_hiding(batch, row, numbers.rows(row, row + 1).span<float>(),
                data::hide_largest(row ? other : noise, 3), form);
  check_gradients_of(config, batch);
}

TEST(Gradients, Regression) {
  ModelConfig c = encoder();
  c.head = Head::sequence;
  c.labels = 1;
  bert_options(c).pooler = true;
  data::Batch batch = labelled_batch(false);
  batch.values = Tensor::from(std::vector<float>{0.3f, -2}, {2, 1});
  check_gradients_of(c, batch);
}

}  // namespace
}  // namespace skein
