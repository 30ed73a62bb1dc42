#include "skein/core/error.h"
#include "skein/models/gpt/gpt.h"

namespace skein {
namespace {

class GptArchitecture : public Architecture {
 public:
  std::string_view name() const override { return "gpt"; }
  std::string_view help() const override {
    return "each token sees those before it, the next one is learnt";
  }

  void bind(Options& options, ModelConfig& c) const override {
    options.add("model.value_head", c.own.get<GptOptions>().value_head,
                "gpt: beside the vocabulary a number for each token, for PPO with one trunk");
    options.add("model.prefix", c.own.get<GptOptions>().prefix,
                "gpt: tokens of a prompt see each other in both directions; lm.prefix trains it");
  }

  void check(const ModelConfig& c) const override {
    const GptOptions& own = c.own.get<GptOptions>();
    require(c.head == Head::vocabulary || (!own.value_head && !own.prefix),
            "model.value_head={} and model.prefix={} need model.head=vocabulary; leave them out",
            own.value_head, own.prefix);
    require(!own.prefix || c.attention.is_full(),
            "model.prefix lets all tokens see the prompt, but attention.kind={} only some of it; "
            "leave one of them out",
            fmt::join(c.attention.kinds, ","));
  }

  std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece,
                               bool sequence_parallel, Parameters& parameters) const override {
    return std::make_unique<Gpt>(config, piece, sequence_parallel, parameters);
  }
  RowsPerToken rows_per_token(const ModelConfig& c) const override {
    return {.places = c.head == Head::vocabulary ? 1.0 : 0};
  }

  bool sees_ahead() const override { return false; }
  bool attends_by_structure() const override { return true; }
  bool scales_by_mup() const override { return true; }
  bool continues_text(const ModelConfig& c) const override { return c.head == Head::vocabulary; }
  bool reads_prompts_both_ways(const ModelConfig& c) const override {
    return c.own.get<GptOptions>().prefix;
  }
  void read_prompts_both_ways(ModelConfig& c) const override {
    c.own.get<GptOptions>().prefix = true;
  }
  std::string_view otherwise(const ModelConfig&) const override {
    return "one that gives numbers or labels";
  }

  void begin_labels(ModelConfig& config, Head head, int64_t labels) const override {
    Architecture::begin_labels(config, head, labels);
    give_values(config, false);
    config.own.get<GptOptions>().prefix = false;
  }
  void give_values(ModelConfig& config, bool values) const override {
    config.own.get<GptOptions>().value_head = values;
  }
};

}  // namespace

const Architecture& gpt_architecture() {
  static const GptArchitecture only;
  return only;
}

}  // namespace skein
