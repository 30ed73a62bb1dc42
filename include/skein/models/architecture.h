// What the rest of the house asks of a kind of model. An architecture is a folder of models/ and a
// line in registry.cpp; nobody asks which one a model has, only what it can do.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/core/error.h"
#include "skein/data/graphs/graph_form.h"
#include "skein/data/images/picture_form.h"
#include "skein/models/config.h"
#include "skein/models/model.h"

namespace skein {

// What samples of a model are made of: token ids of texts, patches of pictures, nodes and links of
// graphs, or words of the sentences of a story and of a question.
enum class Reads { texts, pictures, graphs, stories };
// As messages say it: "texts".
std::string_view name_of(Reads reads);

class Architecture {
 public:
  virtual ~Architecture() = default;
  // The value of the option model.architecture that means it, and what --help says of that value.
  virtual std::string_view name() const = 0;
  virtual std::string_view help() const = 0;

  // Binds the options that it alone has (ModelConfig::own), under section "model".
  virtual void bind(Options& options, ModelConfig& config) const = 0;
  // Whether it has an option, too, that another architecture binds.
  virtual bool shares(const std::string& /*key*/) const { return false; }
  // Writes out what its options mean where they are not given (ModelConfig::written_out).
  virtual void write_out(ModelConfig&) const {}
  // Throws usage errors for options that no model of it can have, beside the checks that hold for
  // all models.
  virtual void check(const ModelConfig& config) const = 0;
  // Makes a piece of such a model. Its tensors are added to `parameters`, which outlives the piece.
  virtual std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece,
                                       bool sequence_parallel, Parameters& parameters) const = 0;
  // How many places are predicted on for each token of a sample, and how many tokens of a source
  // come with it where both sides are as long as they may be; FLOPs are counted by it.
  virtual RowsPerToken rows_per_token(const ModelConfig& config) const = 0;

  // Width of the last hidden states.
  virtual int64_t features(const ModelConfig& config) const { return config.d_model; }
  virtual Reads reads() const { return Reads::texts; }
  // Whether it reads ids of words or tokens, so that it has a vocabulary.
  bool has_vocabulary() const { return reads() == Reads::texts || reads() == Reads::stories; }
  // Of a model that reads pictures (Sequence::features): how, but for mean and deviation.
  virtual data::PictureForm picture_form(const ModelConfig&) const { return {}; }
  // Fills in the sizes of pictures, and what follows from them, where they are not given. A usage
  // error for a model of other sizes.
  virtual void take_pictures(ModelConfig&, const data::PictureForm& /*sizes*/) const {}
  // Of a model that reads stories (data/stories/story_samples.h): how many sentences before a
  // question it remembers, the latest ones.
  virtual int64_t memories(const ModelConfig&) const { return 0; }
  // Of a model that reads graphs: which parts of them it has a use for.
  virtual data::GraphUses graph_uses(const ModelConfig&) const { return {}; }
  // Fills in how much there is of each part, where it is not given. A usage error for a model of
  // others.
  virtual void take_graphs(ModelConfig&, const data::GraphSizes& /*sizes*/) const {}
  // Whether a token sees the tokens after it, too. Then texts stand between the tokenizer's marks,
  // and what the model says of a text it says at the first token.
  virtual bool sees_ahead() const = 0;
  // Whether scores of its attention may have a bias by distance, model.positions=distance.
  virtual bool biases_by_distance() const { return false; }
  // Whether its attention may have a structure, attention.kind.
  virtual bool attends_by_structure() const { return false; }
  // Whether it is scaled by muP, model.mup_base_width.
  virtual bool scales_by_mup() const { return false; }
  // Whether it gives logits for the token after the last one.
  virtual bool continues_text(const ModelConfig&) const { return false; }
  // Whether it gives logits for tokens that are masked.
  virtual bool fills_masks(const ModelConfig&) const { return false; }
  // Whether it can tell if the second part of a text follows the first.
  virtual bool judges_pairs(const ModelConfig&) const { return false; }
  // Whether it reads a source, another sequence, and gives logits for the tokens of a target.
  virtual bool maps_source(const ModelConfig&) const { return false; }
  // Of a model that reads one: the places of the longest source, and the ids of its vocabulary.
  virtual int64_t source_context(const ModelConfig&) const { return 0; }
  virtual int64_t source_ids(const ModelConfig&) const { return 0; }
  // Changes the config of such a model so that its sources have a vocabulary of their own, of `ids`
  // ids, where it does not say how many.
  virtual void give_source_ids(ModelConfig&, int64_t /*ids*/) const {}
  // Whether the tokens of a prompt see each other in both directions (Batch::prefix), and only
  // those that continue it none after them.
  virtual bool reads_prompts_both_ways(const ModelConfig&) const { return false; }
  // What messages call such a model where it does not continue text: "an encoder".
  virtual std::string_view otherwise(const ModelConfig& config) const = 0;

  // Options that change nothing in such a model, each with what has a use for it: "model.hops above
  // 0". Asked for a model whose data have said what they say of it.
  using IdleOption = std::pair<std::string, std::string>;
  virtual std::vector<IdleOption> idle_options(const ModelConfig&) const { return {}; }
  // Options of its own that a run may give anew though its model is another run's: they say how a
  // head reads and begins, not what has been pretrained.
  virtual std::vector<std::string> options_of_heads() const { return {}; }
  // Changes the config so that the model ends in `labels` numbers for each sequence or token.
  virtual void begin_labels(ModelConfig& config, Head head, int64_t labels) const {
    config.head = head;
    config.labels = labels;
  }
  // Changes the config so that prompts are read both ways. A usage error where they cannot be.
  virtual void read_prompts_both_ways(ModelConfig& config) const {
    fail_usage("lm.prefix is for models that continue text; one of model.architecture={} is {}",
               name(), otherwise(config));
  }
  // Changes the config so that the model gives a number for each token beside its logits, or gives
  // none. A usage error where it cannot.
  virtual void give_values(ModelConfig&, bool values) const {
    require(!values,
            "a model of model.architecture={} gives no number for each token beside its logits",
            name());
  }
};

}  // namespace skein
