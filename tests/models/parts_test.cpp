// Every tensor says which part of the model it is, as its name would have it.
#include <gtest/gtest.h>
#include <set>

#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"

namespace skein {
namespace {

ModelConfig twelve_blocks() {
  ModelConfig made;
  made.vocab_size = 11;
  made.context = 8;
  made.d_model = 8;
  made.n_layers = 12;
  made.n_heads = 2;
  return made;
}

Part named_part(const Parameter& p) {
  const std::string& name = p.tensor();
  if (name.starts_with("block.")) return {Part::block, std::stoi(name.substr(6))};
  for (const auto& [beginning, kind] : {std::pair{"embedding.", Part::embedding},
                                        {"final_norm.", Part::final_norm},
                                        {"classifier.", Part::label_head},
                                        {"value.", Part::value_head},
                                        {"pooler.", Part::pooler}})
    if (name.starts_with(beginning)) return {kind};
  return {Part::head};
}

template <class Whole>
std::set<Part::Kind> checked_parts(const ModelConfig& config) {
  Parameters parameters(DType::f32, 0, 1);
  const Whole model(config, {0, static_cast<int>(config.n_layers), true, true, 0}, false,
                    parameters);
  std::set<Part::Kind> kinds;
  for (const Parameter& p : parameters.all()) {
    const Part wanted = named_part(p);
    EXPECT_EQ(p.part.kind, wanted.kind) << p.name;
    EXPECT_EQ(p.part.block_number, wanted.block_number) << p.name;
    kinds.insert(p.part.kind);
  }
  return kinds;
}

using Kinds = std::set<Part::Kind>;

TEST(Parts, OfDecoders) {
  ModelConfig c = twelve_blocks();
  EXPECT_EQ(checked_parts<Gpt>(c), (Kinds{Part::embedding, Part::block, Part::final_norm}))
      << "the head is the embedding";
  c.tie_embeddings = false;
  c.own.get<GptOptions>().value_head = true;
  EXPECT_EQ(checked_parts<Gpt>(c),
            (Kinds{Part::embedding, Part::block, Part::final_norm, Part::head, Part::value_head}));
  c.own.get<GptOptions>().value_head = false;
  c.head = Head::sequence;
  c.labels = 3;
  EXPECT_EQ(checked_parts<Gpt>(c),
            (Kinds{Part::embedding, Part::block, Part::final_norm, Part::label_head}));
}

TEST(Parts, OfEncoders) {
  ModelConfig c = twelve_blocks();
  c.architecture = &bert_architecture();
  c.norm_placement = NormPlacement::post;
  c.activation = MlpKind::gelu_erf;
  bert_options(c).pooler = c.embedding_norm = true;
  c.token_types = 2;
  for (bool tied : {true, false}) {
    c.tie_embeddings = tied;
    EXPECT_EQ(checked_parts<Bert>(c),
              (Kinds{Part::embedding, Part::block, Part::pooler, Part::head}));
  }
  c.head = Head::sequence;
  c.labels = 3;
  EXPECT_EQ(checked_parts<Bert>(c),
            (Kinds{Part::embedding, Part::block, Part::pooler, Part::label_head}));
}

}  // namespace
}  // namespace skein
