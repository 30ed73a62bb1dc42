#include "skein/train/tasks/seq2seq.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/models/architecture.h"
#include "skein/train/tasks/adapting.h"
#include "skein/train/tasks/image_task.h"
#include "skein/train/tasks/language_task.h"
#include "skein/train/tasks/story_task.h"

namespace skein::train {
namespace {

void bind_decoding(Options& options, Seq2seqConfig& c) {
  options.add("validation.decode", c.decoded,
              "seq2seq: held-out pairs that each evaluation decodes and scores (BLEU, chrF, ROUGE, "
              "exact match, F1), evenly spread; 0: none; -1: 200 where task.metric needs them",
              "pairs");
  bind(options, c.beam);
}

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

}  // namespace

void bind(Options& options, Seq2seqConfig& c) {
  bind(options, c.pairs);
  bind(options, c.sides);
  options.add("task.metric", c.metric,
              "seq2seq: what the best evaluation is found by: loss, or of decoded texts bleu, "
              "chrf, rougeL, exact_match, f1; auto: loss");
  options.add("task.epochs", c.epochs, "seq2seq: passes over data.train, where train.steps is 0");
  bind_decoding(options, c);
}

void bind_beside_labels(Options& options, Seq2seqConfig& c) {
  bind_beside_columns(options, c.pairs);
  bind_bad_records(options, c.pairs);
  bind(options, c.sides);
  bind_decoding(options, c);
}

void refuse_pair_options(const Options& options, const std::string& why) {
  Seq2seqConfig config;
  Options own("", "");
  bind_beside_labels(own, config);
  refuse_changed(options, own, why + "; leave it out, or give task.kind=seq2seq");
}

namespace {

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
  bind(options, c.stories);
}

namespace {

// Options that only texts give a meaning to.
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
  Options own("", "");
  bind_pair_options(own, none);
  refuse_changed(options, own, why);
}

// Of a model that reads no texts.
void refuse_texts(const Options& options, const PretrainTaskConfig& c, const char* reads) {
  const std::string why =
      fmt::format("is for texts, but model.architecture={} reads {}; leave it out",
                  c.run.model.architecture->name(), reads);
  require(c.kind == PretrainKind::language, "task.kind=seq2seq {}", why);
  refuse_pairs(options, why);
  refuse_text_options(options, why);
}

void refuse_stories(const Options& options, const Architecture& architecture) {
  StoryTaskConfig none;
  Options own("", "");
  bind(own, none);
  refuse_changed(options, own,
                 fmt::format("is for stories, but model.architecture={} reads none; leave it out",
                             architecture.name()));
}

}  // namespace

std::unique_ptr<Task> pretraining_task(const Options& options, PretrainTaskConfig& c) {
  const Architecture& architecture = *c.run.model.architecture;
  if (!architecture.reads_images()) refuse_augmentation(options, architecture);
  if (architecture.memories(c.run.model) > 0) {
    refuse_texts(options, c, "stories");
    return story_task(c.run, c.stories);
  }
  refuse_stories(options, architecture);
  if (architecture.reads_images()) {
    refuse_texts(options, c, "pictures");
    return image_task(c.run, c.augment);
  }
  if (c.kind == PretrainKind::language) {
    refuse_pairs(options,
                 "is for pairs of texts, but task.kind is language; leave it out, or give "
                 "task.kind=seq2seq");
    return language_task(c.run);
  }
  require(!c.run.data.train.empty(), "data.train names no pairs; give a file or a store of them");
  return seq2seq_task(c.run, c.seq2seq, tokenizers_for(c));
}

}  // namespace skein::train
