// The list of a model's tensors against the models themselves, and the bounds of their sizes.
#include <gtest/gtest.h>
#include <limits>

#include "skein/models/architecture.h"
#include "skein/models/bert/bert.h"
#include "skein/models/description.h"
#include "skein/models/gpt/gpt.h"

#include "formulas.h"

namespace skein {
namespace {

ModelConfig three_blocks() {
  ModelConfig c;
  c.vocab_size = 37;
  c.context = 8;
  c.d_model = 12;
  c.n_layers = 3;
  c.n_heads = 4;
  return c;
}

std::vector<ModelConfig> decoders() {
  std::vector<ModelConfig> all(8, three_blocks());
  all[1].bias = false, all[1].norm = ops::Norm::rms, all[1].positions = Positions::rotary;
  all[1].activation = MlpKind::swiglu, all[1].n_kv_heads = 2, all[1].d_head = 6, all[1].d_ff = 20;
  all[2].tie_embeddings = false, all[2].norm_placement = NormPlacement::post;
  all[3].own.get<GptOptions>().value_head = true, all[3].position_offset = 2;
  all[4].head = Head::token, all[4].labels = 5;
  all[5].bias = false, all[5].attention_bias = true, all[5].embedding_norm = true;
  all[6].token_types = 2, all[6].head = Head::sequence, all[6].labels = 1;
  all[7].activation = MlpKind::swiglu;
  return all;
}

std::vector<ModelConfig> encoders() {
  ModelConfig bert = three_blocks();
  bert.architecture = &bert_architecture();
  bert.norm_placement = NormPlacement::post;
  bert.embedding_norm = true;
  bert.token_types = 2;
  bert_options(bert).pooler = true;
  std::vector<ModelConfig> all(5, bert);
  bert_options(all[1]).pooler = false, all[1].tie_embeddings = false;
  all[2].head = Head::sequence, all[2].labels = 3;
  all[3].head = Head::token, all[3].labels = 7, bert_options(all[3]).pooler = false;
  all[4].norm = ops::Norm::rms, all[4].bias = false;
  return all;
}

TEST(ModelTensors, AreThoseOfItsPiecesAndAsManyAsTheFormulaSays) {
  for (const auto& models : {decoders(), encoders()})
    for (const ModelConfig& c : models) {
      SCOPED_TRACE(testing::Message()
                   << "architecture " << c.architecture->name() << ", " << &c - models.data());
      check(c, 1, false);
      EXPECT_EQ(test::by_pieces(c), tensor_shapes(c, whole_piece(c)));
      EXPECT_EQ(c.parameters(), test::parameters_by_formula(c));
    }
}

void expect_named(const ModelConfig& c, const std::vector<std::string>& words) {
  try {
    check(c, 1, false);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    for (const std::string& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << word << " is not in: " << error.what();
  }
}

TEST(ModelBounds, NameTheOptionTheValueAndTheBound) {
  struct Case {
    int64_t ModelConfig::*size;
    const char* name;
  };
  const Case cases[] = {{&ModelConfig::vocab_size, "vocab_size"},
                        {&ModelConfig::context, "context"},
                        {&ModelConfig::d_model, "d_model"},
                        {&ModelConfig::n_layers, "n_layers"},
                        {&ModelConfig::n_heads, "n_heads"},
                        {&ModelConfig::n_kv_heads, "n_kv_heads"},
                        {&ModelConfig::d_head, "d_head"},
                        {&ModelConfig::d_ff, "d_ff"},
                        {&ModelConfig::position_offset, "position_offset"},
                        {&ModelConfig::token_types, "token_types"},
                        {&ModelConfig::labels, "labels"},
                        {&ModelConfig::rope_context, "rope_context"}};
  for (const Case& one : cases) {
    for (const int64_t large :
         {std::numeric_limits<int64_t>::max(), int64_t{1} << 62, int64_t{1} << 40}) {
      ModelConfig c = three_blocks();
      c.*one.size = large;
      expect_named(c, {fmt::format("model.{} is {}", one.name, large), "is the most"});
    }
    for (const int64_t below : {int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
      ModelConfig c = three_blocks();
      c.*one.size = below;
      expect_named(c, {fmt::format("model.{} is {}", one.name, below), "at least"});
    }
  }
  ModelConfig deep = three_blocks();
  deep.n_layers = 2'000'000'000;
  expect_named(deep, {"model.n_layers is 2000000000", "10000 is the most"});
}

TEST(ModelBounds, HoldProductsToo) {
  ModelConfig c = three_blocks();
  c.n_heads = 1 << 16, c.d_head = 1 << 16;
  expect_named(c, {"model.n_heads=65536", "65536 (model.d_head)", "4294967296", "4194304"});
  c = three_blocks();
  c.d_model = 1 << 20, c.n_heads = 1 << 10, c.d_ff = 1 << 24, c.n_layers = 10'000;
  expect_named(c, {"model.n_layers=10000", "parameters", std::to_string(int64_t{1} << 56)});
}

TEST(ModelBounds, LeaveRoomForTenTrillionParameters) {
  ModelConfig c = three_blocks();
  c.vocab_size = 1'000'000, c.context = 10'000'000, c.positions = Positions::rotary;
  c.d_model = 65'536, c.n_layers = 400, c.n_heads = 512, c.n_kv_heads = 64, c.d_ff = 262'144;
  check(c, 8, false);
  EXPECT_GT(c.parameters(), int64_t{10'000'000'000'000});
}

}  // namespace
}  // namespace skein
