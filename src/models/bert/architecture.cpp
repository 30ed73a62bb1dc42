#include "skein/core/error.h"
#include "skein/models/bert/bert.h"

namespace skein {
namespace {

void check_pool(const BertOptions& c) {
  require(c.pooler || c.pool == Pool::first,
          "model.pool=mean says what model.pooler reads, and there is none; it is for "
          "model.architecture=bert with pairs or with one label a text");
  require(c.pooler || !c.pooler_activation,
          "model.pooler_activation says what stands behind model.pooler, and there is none; leave "
          "it out");
}

// Of dense layers of heads; `usual` is what is meant where none is said.
std::vector<std::pair<std::string, std::optional<MlpKind>>> activations(const char* usual) {
  return {{usual, std::nullopt},
          {"gelu_tanh", MlpKind::gelu_tanh},
          {"gelu_erf", MlpKind::gelu_erf},
          {"relu", MlpKind::relu},
          {"silu", MlpKind::silu}};
}

class BertArchitecture : public Architecture {
 public:
  std::string_view name() const override { return "bert"; }
  std::string_view help() const override { return "each sees all, masked ones are learnt"; }

  void bind(Options& options, ModelConfig& config) const override;
  // A head_activation that says what the activation does is none.
  void write_out(ModelConfig& config) const override {
    BertOptions& own = bert_options(config);
    if (own.head_activation == config.activation) own.head_activation.reset();
  }
  void check(const ModelConfig& config) const override;

  std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece,
                               bool sequence_parallel, Parameters& parameters) const override {
    return std::make_unique<Bert>(config, piece, sequence_parallel, parameters);
  }
  // As many as are masked by default.
  RowsPerToken rows_per_token(const ModelConfig& c) const override {
    return {.places = c.head == Head::vocabulary ? 0.15 : 0};
  }

  bool sees_ahead() const override { return true; }
  bool attends_by_structure() const override { return true; }
  bool fills_masks(const ModelConfig& c) const override { return c.head == Head::vocabulary; }
  bool judges_pairs(const ModelConfig& c) const override {
    return c.head == Head::vocabulary && bert_options(c).pooler;
  }
  std::string_view otherwise(const ModelConfig&) const override { return "an encoder"; }

  std::vector<std::string> options_of_heads() const override {
    return {"model.pool", "model.pooler_activation"};
  }
  void begin_labels(ModelConfig& config, Head head, int64_t labels) const override {
    Architecture::begin_labels(config, head, labels);
    BertOptions& own = bert_options(config);
    own.pooler = head == Head::sequence;
    if (own.pooler) return;
    own.pool = Pool::first;
    own.pooler_activation.reset();
  }
};

void BertArchitecture::bind(Options& options, ModelConfig& config) const {
  BertOptions& c = bert_options(config);
  options.add_choice("model.head_activation", c.head_activation, activations("same"),
                     "bert: nonlinearity of the dense layer before the vocabulary; same: "
                     "model.activation. RoBERTa's is always gelu_erf elsewhere");
  options.add("model.pooler", c.pooler, "bert: a dense layer for pairs and sequences");
  options.add_choice("model.pooler_activation", c.pooler_activation, activations("tanh"),
                     "bert: nonlinearity behind model.pooler; BigBird's classifiers have "
                     "model.activation there");
  options.add_choice(
      "model.pool", c.pool, {{"first", Pool::first}, {"mean", Pool::mean}},
      "what model.pooler reads: the first token's last hidden state, or the mean of all");
}

void BertArchitecture::check(const ModelConfig& c) const {
  require(!is_gated(c.activation),
          "model.architecture=bert has a dense head with the model's activation, which cannot be "
          "gated; use gelu_erf, gelu_tanh, relu or silu");
  require(c.norm_placement == NormPlacement::post,
          "model.architecture=bert has its norms after each half block; give "
          "model.norm_placement=post");
  const BertOptions& own = bert_options(c);
  require(c.head != Head::sequence || own.pooler,
          "model.head=sequence of model.architecture=bert needs model.pooler");
  check_pool(own);
}

}  // namespace

const Architecture& bert_architecture() {
  static const BertArchitecture only;
  return only;
}

}  // namespace skein
