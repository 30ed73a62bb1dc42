#include <algorithm>

#include "skein/core/error.h"
#include "skein/models/memory_network/memory_network.h"

#include "models/limits.h"

namespace skein {
namespace {

class MemoryArchitecture : public Architecture {
 public:
  std::string_view name() const override { return "memory"; }
  std::string_view help() const override {
    return "looks at the sentences of a story, hop after hop, and answers a question";
  }

  void bind(Options& options, ModelConfig& config) const override;
  void check(const ModelConfig& config) const override;
  std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece,
                               bool /*sequence_parallel*/, Parameters& parameters) const override {
    return std::make_unique<MemoryNetwork>(config, piece, parameters);
  }
  RowsPerToken rows_per_token(const ModelConfig&) const override { return {.places = 0}; }
  Reads reads() const override { return Reads::stories; }
  int64_t memories(const ModelConfig& config) const override {
    return memory_options(config).memories;
  }
  bool sees_ahead() const override { return true; }
  std::string_view otherwise(const ModelConfig&) const override {
    return "one that answers questions about stories";
  }
  // Linear weights are where softmaxes begin.
  std::vector<std::string> options_of_heads() const override { return {"model.hop_weights"}; }
  // It has one head, on one rank.
  void begin_labels(ModelConfig& config, Head head, int64_t labels) const override {
    Architecture::begin_labels(config, head, labels);
    if (config.n_heads == ModelConfig{}.n_heads) config.n_heads = 1;
  }
};

void MemoryArchitecture::bind(Options& options, ModelConfig& config) const {
  MemoryOptions& c = memory_options(config);
  options.add("model.memories", c.memories,
              "memory: sentences before a question that are remembered, the latest ones",
              "sentences");
  options.add("model.word_order", c.word_order,
              "memory: words of a sentence are weighed by their places (position encoding)");
  options.add_choice("model.hop_weights", c.weights,
                     {{"softmax", HopWeights::softmax}, {"linear", HopWeights::linear}},
                     "memory: how sentences are weighed; linear: by the products themselves, to "
                     "begin with");
}

// The first of the options of transformers' layers that is not as it begins; "" if all are.
std::string changed_layers(const ModelConfig& config) {
  ModelConfig given = config, begins;
  begins.d_model = given.d_model;
  begins.n_heads = 1;
  given = given.written_out();
  begins = begins.written_out();
  Options left("", ""), right("", "");
  skein::bind(left, given);
  skein::bind(right, begins);
  static const std::vector<std::string> kRead{
      "model.architecture", "model.vocab_size", "model.context",    "model.d_model",
      "model.n_layers",     "model.head",       "model.labels",     "model.tie_embeddings",
      "model.init_std",     "model.memories",   "model.word_order", "model.hop_weights"};
  const auto wanted = right.values();
  const auto found = left.values();
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] != wanted[i] && std::ranges::find(kRead, found[i].first) == kRead.end())
      return fmt::format("{}={}", found[i].first, found[i].second);
  return "";
}

void MemoryArchitecture::check(const ModelConfig& c) const {
  check_range("model.memories", memory_options(c).memories, 1, 1 << 20);
  require(c.head == Head::sequence && c.labels == c.vocab_size,
          "model.architecture=memory answers with a word of its vocabulary: model.head must be "
          "sequence and model.labels={} must be model.vocab_size={}; leave both out",
          c.labels, c.vocab_size);
  const std::string changed = changed_layers(c);
  require(changed.empty(),
          "{} says what model.architecture=memory has not, for it has no layers but hops over "
          "sentences; leave it out",
          changed);
}

}  // namespace

const Architecture& memory_architecture() {
  static const MemoryArchitecture only;
  return only;
}

}  // namespace skein
