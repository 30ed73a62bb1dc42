#include <algorithm>
#include <limits>

#include "skein/core/error.h"
#include "skein/models/transformer/transformer.h"

#include "models/limits.h"

namespace skein {
namespace {

class TransformerArchitecture : public Architecture {
 public:
  std::string_view name() const override { return "transformer"; }
  std::string_view help() const override {
    return "an encoder reads a source, a decoder that looks at it writes the target";
  }

  void bind(Options& options, ModelConfig& config) const override;
  void write_out(ModelConfig& config) const override;
  void check(const ModelConfig& config) const override;

  std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece,
                               bool sequence_parallel, Parameters& parameters) const override {
    return std::make_unique<Transformer>(config, piece, sequence_parallel, parameters);
  }
  RowsPerToken rows_per_token(const ModelConfig& c) const override {
    return {.source_tokens =
                static_cast<double>(source_context(c)) / static_cast<double>(c.context)};
  }

  bool sees_ahead() const override { return false; }
  bool biases_by_distance() const override { return true; }
  bool maps_source(const ModelConfig&) const override { return true; }
  int64_t source_context(const ModelConfig& c) const override {
    const int64_t given = transformer_options(c).source_context;
    return given ? given : c.context;
  }
  int64_t source_ids(const ModelConfig& c) const override {
    const int64_t given = transformer_options(c).source_vocab_size;
    return given ? given : c.vocab_size;
  }
  // Two vocabularies have a table each.
  void give_source_ids(ModelConfig& config, int64_t ids) const override {
    TransformerOptions& own = transformer_options(config);
    if (own.source_vocab_size > 0) return;
    own.source_vocab_size = ids;
    own.share_source = false;
  }
  std::string_view otherwise(const ModelConfig&) const override { return "an encoder-decoder"; }
  void begin_labels(ModelConfig&, Head, int64_t) const override {
    fail_usage(
        "a model of model.architecture=transformer writes a target; labels and scores are "
        "given by the others");
  }
};

void TransformerArchitecture::bind(Options& options, ModelConfig& config) const {
  TransformerOptions& c = transformer_options(config);
  options.add("model.encoder_layers", c.encoder_layers,
              "transformer: how many of model.n_layers are the encoder's; 0: half of them");
  options.add("model.source_context", c.source_context,
              "transformer: longest source; 0: as model.context", "tokens");
  options.add("model.source_vocab_size", c.source_vocab_size,
              "transformer: vocabulary of the source where it is another one than the target's; "
              "0: model.vocab_size",
              "ids");
  options.add("model.share_source", c.share_source,
              "transformer: source and target have one table of embeddings");
  options.add("model.distance_buckets", c.distance_buckets,
              "transformer: rows of the table of model.positions=distance");
  options.add("model.distance_max", c.distance_max,
              "transformer: this distance and all beyond it share a row", "tokens");
  options.add("model.scale_scores", c.scale_scores,
              "transformer: scores are divided by sqrt(d_head); T5's are not");
  options.add("model.scale_output", c.scale_output,
              "transformer: what logits are made of is divided by sqrt(d_model), as in T5 1.0");
  options.add("model.drop_outputs", c.drop_outputs,
              "transformer: model.dropout also on what each half ends in, as in T5");
  options.add_choice(
      "model.head_bias", c.head_bias,
      {{"none", HeadBias::none}, {"kept", HeadBias::kept}, {"learnt", HeadBias::learnt}},
      "transformer: a number for each id that is added to its logit; kept: as it "
      "was imported");
  options.add_choice("model.start", c.start,
                     {{"normal", StartValues::normal}, {"fan_in", StartValues::fan_in}},
                     "transformer: start weights by model.init_std, or by the number of inputs of "
                     "each product, as T5's");
}

void TransformerArchitecture::write_out(ModelConfig& config) const {
  TransformerOptions& c = transformer_options(config);
  if (c.encoder_layers == 0) c.encoder_layers = config.n_layers / 2;
  c.source_context = source_context(config);
  c.source_vocab_size = source_ids(config);
}

void check_halves(const ModelConfig& c) {
  const TransformerOptions& own = transformer_options(c);
  require(c.n_layers >= 2,
          "model.n_layers is {}; model.architecture=transformer needs at least 2, one in the "
          "encoder and one in the decoder",
          c.n_layers);
  require(own.encoder_layers >= 0 && own.encoder_layers < c.n_layers,
          "model.encoder_layers={} must be below model.n_layers={}, which counts those of the "
          "decoder, too; 0 takes half of them",
          own.encoder_layers, c.n_layers);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  check_range("model.source_context", own.source_context, 0, kMost);
  check_range("model.source_vocab_size", own.source_vocab_size, 0, kMost);
  require(!own.share_source || own.source_vocab_size == 0 || own.source_vocab_size == c.vocab_size,
          "model.share_source gives source and target one table, but model.source_vocab_size={} "
          "and model.vocab_size={}; give model.share_source=false",
          own.source_vocab_size, c.vocab_size);
}

void check_distances(const ModelConfig& c) {
  const TransformerOptions &own = transformer_options(c), none;
  require(c.positions == Positions::distance || (own.distance_buckets == none.distance_buckets &&
                                                 own.distance_max == none.distance_max),
          "model.distance_buckets and model.distance_max belong to model.positions=distance; leave "
          "them out");
  check_range("model.distance_buckets", own.distance_buckets, 4, 1 << 20);
  require(own.distance_buckets % 4 == 0,
          "model.distance_buckets={} must be a multiple of 4: half of the encoder's rows are for "
          "each direction, and half of these for one distance each",
          own.distance_buckets);
  require(own.distance_max > own.distance_buckets / 2 && own.distance_max < (1 << 30),
          "model.distance_max={} must be above {}, half of model.distance_buckets, the distances "
          "that have a row of their own",
          own.distance_max, own.distance_buckets / 2);
}

void TransformerArchitecture::check(const ModelConfig& c) const {
  check_halves(c);
  check_distances(c);
  require(c.head == Head::vocabulary,
          "model.architecture=transformer gives tokens; model.head must be vocabulary");
  require(c.token_types == 0,
          "model.token_types={} is for model.architecture=gpt and bert; leave it out",
          c.token_types);
}

}  // namespace

const Architecture& transformer_architecture() {
  static const TransformerArchitecture only;
  return only;
}

}  // namespace skein
