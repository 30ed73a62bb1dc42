#include "skein/convert/huggingface_config.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/models/architecture.h"
#include "skein/train/tasks/label_head.h"

#include "foreign_family.h"
#include "picture_config.h"

namespace skein::convert {
namespace {

int64_t labels_of(const ForeignConfig& config) {
  if (config.has("id2label") && config.at("id2label").is_object())
    return std::ssize(config.at("id2label"));
  return config.integer("num_labels", 2);
}

// Of a class, by its name without the family's stem.
Head head_of(const std::string& ending, const ForeignFamily& family, const ForeignConfig& config) {
  const bool pictures = family.architecture.reads() == Reads::pictures;
  const auto& known = family.vocabulary_classes;
  const bool classifies = pictures && known.empty();
  require(!classifies || ending == "ForImageClassification",
          "{}: {} is not known here; of models of pictures {}ForImageClassification is",
          config.origin(),
          config.class_name().empty() ? "a model without \"architectures\""
                                      : "the head of " + config.class_name(),
          family.stem);
  if (classifies || ending == family.sequence_class) return Head::sequence;
  if (ending == "ForTokenClassification") return Head::token;
  require(
      ending == family.bare_class || std::find(known.begin(), known.end(), ending) != known.end(),
      "{}: the architecture {} has a head that is not known here; language models and "
      "classifiers of sequences and of tokens are",
      config.origin(), config.class_name());
  return Head::vocabulary;
}

// The bare model gets the head that pretraining gives it.
void read_head(const ForeignConfig& config, const ForeignFamily& family, ModelConfig& c) {
  const std::string name = config.class_name();
  require(name.empty() || name.starts_with(family.stem),
          "{}: the architecture {} is not known here; those of \"model_type\" {} begin with {}",
          config.origin(), name, family.name, family.stem);
  c.head =
      head_of(name.empty() ? family.bare_class : name.substr(family.stem.size()), family, config);
  if (c.head != Head::vocabulary) c.labels = labels_of(config);
  require(c.head == Head::vocabulary || c.architecture->reads() != Reads::pictures || c.labels > 1,
          "{}: a model of pictures with {} output tells no classes; two or more are known here",
          config.origin(), c.labels);
  require(
      c.head == Head::vocabulary || !c.architecture->maps_source(c),
      "{}: {} has a head of labels, which models that map a source to a target do not have here",
      config.origin(), name);
  require(c.head != Head::token || c.architecture->sees_ahead(),
          "{}: {} has a head with a bias for every token, which models that see only what was "
          "before do not have here",
          config.origin(), name);
}

// What would make any of the families another model.
void refuse_other_attention(const ForeignConfig& config, const ModelConfig& c) {
  const bool decodes = !c.architecture->sees_ahead();
  if (config.truth("is_causal", decodes) != decodes)
    config.refuse("is_causal", decodes ? "and decoders here see only what was before"
                                       : "and encoders here see the whole sequence");
  if (config.has("auto_map") && !config.at("auto_map").empty())
    config.refuse("auto_map",
                  "so the model has code of its own, which is not known here; if it computes what "
                  "transformers' class does, take \"auto_map\" out");
}

}  // namespace

train::TaskNotes label_notes(const std::string& text, const std::string& origin,
                             const ModelConfig& model, const std::string& preprocessor) {
  const ForeignConfig config(text, origin);
  if (config.text("problem_type", "") == "multi_label_classification") return {};
  if (model.architecture->reads() == Reads::pictures)
    return picture_notes(config, model, preprocessor);
  if (model.head == Head::vocabulary) return {};
  train::LabelHead head;
  head.kind = model.head == Head::token ? train::LabelKind::tag
              : model.labels == 1       ? train::LabelKind::regress
                                        : train::LabelKind::classify;
  head.metric = metric_of(head.kind, train::LabelMetric::automatic);
  head.length = model.context;
  head.framed = !model.architecture->sees_ahead();
  if (head.kind == train::LabelKind::regress) return to_notes(head, 0);
  if (!config.has("id2label") || !config.at("id2label").is_object()) return {};
  std::set<std::string> known;
  for (int64_t i = 0; i < model.labels; ++i) {
    const auto found = config.at("id2label").find(std::to_string(i));
    if (found == config.at("id2label").end() || !found->is_string() ||
        !known.insert(found->get<std::string>()).second)
      return {};
    head.labels.push_back(found->get<std::string>());
  }
  return to_notes(head, 0);
}

std::string model_type(const std::string& config) {
  const auto json = ForeignJson::parse(config, nullptr, false);
  return json.is_object() && json.contains("model_type") && json["model_type"].is_string()
             ? json["model_type"].get<std::string>()
             : "";
}

std::map<std::string, std::string> model_values(const ModelConfig& model) {
  ModelConfig copy = model;
  return bound_values([&](Options& own) { bind(own, copy); });
}

ModelConfig model_from_huggingface(const std::string& text, const std::string& origin,
                                   const HeldTensors& held) {
  ForeignConfig config(text, origin, held);
  const std::string type = config.text("model_type", "");
  if (config.has("quantization_config"))
    fail_usage("{} is of a quantised model; bring its weights to f32, f16 or bf16 first", origin);
  ModelConfig c;
  const ForeignFamily& family = family_named(type, origin);
  c.architecture = &family.architecture;
  read_head(config, family, c);
  c.tie_embeddings = config.truth("tie_word_embeddings", family.ties_embeddings);
  if (c.architecture->reads() != Reads::pictures) c.vocab_size = config.integer("vocab_size");
  if (!family.deviation.empty()) c.init_std = config.real(family.deviation, c.init_std);
  family.keys(config, c);
  refuse_other_attention(config, c);
  check_sizes(c, origin);
  return c;
}

}  // namespace skein::convert
