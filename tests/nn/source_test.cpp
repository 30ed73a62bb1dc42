// Layers that read a batch's source do what they do with a batch of it.
#include "skein/comm/local.h"
#include "skein/nn/embedding.h"

#include "nn/small_blocks.h"

namespace skein {
namespace {

data::Sequence some_sequence() {
  data::Sequence made;
  made.tokens = test::two_rows({1, 4, 2, 7, 3, 3, 9, 0});
  made.positions = test::two_rows({0, 1, 2, 3, 0, 1, 0, 1});
  made.segments = test::two_rows({0, 0, 0, -1, 0, 0, 1, 1});
  made.types = test::two_rows({0, 1, 1, 0, 0, 0, 1, 1});
  return made;
}

struct Layers {
  std::unique_ptr<Group> alone = single_rank();
  Parameters parameters{DType::f64, 0, 1};
  Embedding embedding;
  Stack stack;

  explicit Layers(const EmbeddingSpec& spec)
      : embedding(parameters, spec, 0),
        stack(parameters, 0, 0, test::small_blocks(test::Family::llama, false, 0.2)) {
    test::initialize_all(parameters, true);
  }
  Tensor operator()(Pass pass) const {
    pass.tp = alone.get();
    pass.train = true;
    return stack(embedding(pass), pass).value();
  }
};

EmbeddingSpec spec_of(Positions positions) {
  EmbeddingSpec made;
  made.vocab_size = 11, made.width = test::kWidth, made.context = 8, made.token_types = 2;
  made.positions = positions;
  return made;
}

TEST(Layers, ReadASourceAsABatchOfIt) {
  for (Positions positions : {Positions::learned, Positions::sinusoidal, Positions::rotary}) {
    const Layers layers(spec_of(positions));
    data::Batch of_source, of_both;
    of_source.sample_ids = of_both.sample_ids = Tensor::from(std::vector<int64_t>{6, 3}, {2});
    static_cast<data::Sequence&>(of_source) = some_sequence();
    of_both.tokens = of_both.positions = test::two_rows({5, 6});
    of_both.source = some_sequence();
    Pass one, two;
    one.batch = &of_source;
    two.batch = &of_both;
    two.reads = &of_both.source;
    EXPECT_EQ(test::bytes_of(layers(one)), test::bytes_of(layers(two)));
  }
}

TEST(Embeddings, OfTwoSequencesMayShareTheirTable) {
  Parameters parameters(DType::f32, 0, 1);
  EmbeddingSpec first = spec_of(Positions::learned), second = first;
  second.name = "source";
  second.tied_to = "embedding.tokens.weight";
  second.use = 3;
  const Embedding one(parameters, first, 0), other(parameters, second, 0);
  std::vector<std::string> names;
  for (const Parameter& p : parameters.all()) names.push_back(p.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"embedding.tokens.weight", "embedding.positions.weight",
                                      "embedding.types.weight", "source.tokens.weight",
                                      "source.positions.weight", "source.types.weight"}));
  const Parameter& shared = *parameters.find("source.tokens.weight");
  EXPECT_EQ(shared.tensor(), "embedding.tokens.weight");
  EXPECT_EQ(shared.use, 3);
  std::vector<std::string> buckets;
  for (const BucketSpec& bucket : parameters.buckets()) buckets.push_back(bucket.name);
  EXPECT_EQ(buckets,
            (std::vector<std::string>{"embedding.tokens", "embedding.positions", "embedding.rest",
                                      "source.tokens", "source.positions", "source.rest"}));
}

}  // namespace
}  // namespace skein
