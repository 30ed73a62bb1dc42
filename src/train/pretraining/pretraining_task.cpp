#include "skein/train/pretraining/pretraining_task.h"

#include <algorithm>
#include <map>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/options/options.h"
#include "skein/models/architecture.h"
#include "skein/train/tasks/image_task.h"
#include "skein/train/tasks/language_task.h"

namespace skein::train {
namespace {

data::PairTokenizers tokenizers_for(const PretrainTaskConfig& c) {
  require(!c.tokenizer.empty() || c.target_tokenizer.empty(),
          "tokenizer.target={} is that of targets; give tokenizer.path, that of sources, too",
          c.target_tokenizer);
  if (!c.tokenizer.empty()) {
    const std::shared_ptr<const text::Tokenizer> source = text::load_tokenizer(c.tokenizer);
    return {source, c.target_tokenizer.empty() ? source
                                               : std::shared_ptr<const text::Tokenizer>(
                                                     text::load_tokenizer(c.target_tokenizer))};
  }
  for (const std::string& entry : c.run.data.train)
    if (const std::string path = data::data_entry(entry).path; data::is_record_store(path))
      return tokenizers_of(data::Records(path));
  fail_usage(
      "none of data.train is a store of pairs that names its tokenizer; give tokenizer.path (and "
      "tokenizer.target where targets have another), or make stores with `skein-data pairs`");
}

void bind_pair_options(Options& options, PretrainTaskConfig& c) {
  options.add("tokenizer.path", c.tokenizer,
              "seq2seq: tokenizer of files of pairs, file or folder, or `bytes`; empty: that of "
              "the first store");
  options.add("tokenizer.target", c.target_tokenizer, "that of targets, where it is another one");
  bind(options, c.seq2seq);
}

}  // namespace

void bind(Options& options, PretrainTaskConfig& c) {
  bind(options, c.run);
  options.add_choice("task.kind", c.kind,
                     {{"language", PretrainKind::language}, {"seq2seq", PretrainKind::seq2seq}},
                     "language: token stores, of which the model predicts or restores tokens; "
                     "seq2seq: pairs of texts, a source and its target");
  bind_pair_options(options, c);
  bind(options, c.augment);
  bind(options, c.graphs);
  bind(options, c.stories);
}

namespace {

// Options that only token stores give a meaning to.
void refuse_text_options(const Options& options, const std::string& why) {
  constexpr std::string_view kSections[] = {"mlm.", "noise.", "lm."};
  constexpr std::string_view kKeys[] = {"data.stride",
                                        "data.tokenizer",
                                        "data.cross_document_attention",
                                        "data.mask_document_ends",
                                        "validation.windows",
                                        "validation.stride"};
  for (const auto& [key, value] : options.values()) {
    const bool of_texts =
        std::ranges::any_of(kSections, [&](auto section) { return key.starts_with(section); }) ||
        std::ranges::find(kKeys, key) != std::end(kKeys);
    require(!of_texts || !options.changed(key), "{} {}", key, why);
  }
}

void refuse_pairs(const Options& options, const std::string& why) {
  PretrainTaskConfig none;
  refuse_changed(
      options, [&](Options& own) { bind_pair_options(own, none); }, why);
}

// Why what is for texts is refused for a model that reads something else.
std::string for_texts(const Architecture& architecture) {
  return fmt::format("is for texts, but model.architecture={} reads {}; leave it out",
                     architecture.name(), name_of(architecture.reads()));
}

void refuse_stories(const Options& options, const Architecture& architecture) {
  refuse_options_of<StoryTaskConfig>(
      options, fmt::format("is for stories, but model.architecture={} reads {}; leave it out",
                           architecture.name(), name_of(architecture.reads())));
}

// How token stores hide tokens, for a run that hides none, or hides them in the other way.
void refuse_other_hiding(const Options& options, const PretrainTaskConfig& c) {
  const ModelConfig& model = c.run.model;
  const Architecture& kind = *model.architecture;
  const bool pairs = c.kind == PretrainKind::seq2seq, maps = kind.maps_source(model);
  const std::string instead = pairs ? "task.kind is seq2seq"
                              : kind.continues_text(model)
                                  ? "this model continues text"
                                  : fmt::format("this model is {}", kind.otherwise(model));
  if (pairs || maps || !kind.fills_masks(model))
    refuse_options_of<data::MaskConfig>(
        options, "is for encoders that fill in masked tokens, but " + instead + "; leave it out");
  if (pairs || !maps)
    refuse_options_of<data::NoiseConfig>(
        options, "is for encoder-decoders that restore noised token stores, but " + instead +
                     "; leave it out");
}

// A list that goes by block.
void check_blocks(const char* key, size_t values, int64_t blocks) {
  require(std::cmp_less_equal(values, std::max<int64_t>(1, blocks)),
          "{} has {} values, but there are model.n_layers={} blocks for them; leave out what no "
          "block has a use for",
          key, values, blocks);
}

// What changes nothing in a model without rotary positions, labels or a vocabulary.
void refuse_idle_of_model(const Options& options, const ModelConfig& model) {
  for (const auto& [key, value] : options.values())
    require(!key.starts_with("model.rope_") || model.positions == Positions::rotary ||
                !options.changed(key),
            "{}={} is for model.positions=rotary; give that with it, or leave it out", key, value);
  const Architecture& architecture = *model.architecture;
  if (architecture.reads() == Reads::texts && model.head == Head::vocabulary) {
    require(!options.changed("model.labels"),
            "model.labels={} is for model.head=sequence and token, but pretraining learns tokens; "
            "leave it out: `skein finetune` trains labels",
            model.labels);
    require(!options.changed("model.head_std"),
            "model.head_std={} is for heads of labels or values, but pretraining learns tokens; "
            "leave it out",
            model.head_std);
  }
  require(architecture.has_vocabulary() || !options.changed("model.tie_embeddings"),
          "model.tie_embeddings={} is for models with a vocabulary, but model.architecture={} "
          "reads {}; leave it out",
          model.tie_embeddings, architecture.name(), name_of(architecture.reads()));
  check_blocks("attention.kind", model.attention.kinds.size(), model.n_layers);
  check_blocks("attention.window", model.attention.windows.size(), model.n_layers);
}

}  // namespace

void refuse_idle_options(const Options& options, const ModelConfig& model) {
  refuse_idle_of_model(options, model);
  const Architecture& architecture = *model.architecture;
  const Reads reads = architecture.reads();
  if (reads != Reads::pictures) refuse_augmentation(options, architecture);
  if (reads != Reads::graphs) refuse_graph_options(options, architecture);
  if (reads != Reads::stories) refuse_stories(options, architecture);
  if (reads != Reads::texts) refuse_text_options(options, for_texts(architecture));
}

void refuse_idle_in_model(const Options& options, const ModelConfig& model) {
  const std::map<std::string, std::string> values = [&] {
    const auto all = options.values();
    return std::map<std::string, std::string>(all.begin(), all.end());
  }();
  for (const auto& [key, use] : model.architecture->idle_options(model))
    require(!options.changed(key), "{}={} is for {}; leave it out", key, values.at(key), use);
}

namespace {

// What is for texts, or for texts of the other kind.
void refuse_other_texts(const Options& options, const PretrainTaskConfig& c) {
  const Architecture& architecture = *c.run.model.architecture;
  if (architecture.reads() != Reads::texts) {
    const std::string why = for_texts(architecture);
    require(c.kind == PretrainKind::language, "task.kind=seq2seq {}", why);
    return refuse_pairs(options, why);
  }
  refuse_other_hiding(options, c);
  if (c.kind == PretrainKind::language)
    refuse_pairs(options,
                 "is for pairs of texts, but task.kind is language; leave it out, or give "
                 "task.kind=seq2seq");
  else
    refuse_text_options(options, "is for token stores, but task.kind is seq2seq; leave it out");
}

}  // namespace

std::unique_ptr<Task> pretraining_task(PretrainTaskConfig& c) {
  switch (c.run.model.architecture->reads()) {
    case Reads::pictures: return image_task(c.run, c.augment);
    case Reads::graphs: return graph_task(c.run, c.graphs);
    case Reads::stories: return story_task(c.run, c.stories);
    case Reads::texts: break;
  }
  if (c.kind == PretrainKind::language) return language_task(c.run);
  require(!c.run.data.train.empty(), "data.train names no pairs; give a file or a store of them");
  return seq2seq_task(c.run, c.seq2seq, tokenizers_for(c));
}

std::unique_ptr<Task> pretraining_task(const Options& options, PretrainTaskConfig& c) {
  refuse_idle_options(options, c.run.model);
  refuse_other_texts(options, c);
  auto task = pretraining_task(c);
  if (c.run.model.architecture->reads() != Reads::texts) refuse_idle_in_model(options, c.run.model);
  return task;
}

}  // namespace skein::train
