// Examples of a labelled task, formed for a model, with what is known of them.
#pragma once

#include <string>
#include <vector>

#include "skein/data/samples/label_samples.h"
#include "skein/train/tasks/entity_scores.h"
#include "skein/train/tasks/label_head.h"

namespace skein::train {

struct LabelData {
  // Which words of a sentence a sample holds: its places are the words from `first` on.
  struct Window {
    int64_t sentence = 0, first = 0;
  };

  std::vector<data::LabelledSample> samples;
  std::vector<int32_t> classes;  // classify: the truth of each
  std::vector<double> values;    // regress
  TagSequences tags;             // tag: of each sentence
  std::vector<Window> windows;   // tag: of each sample
  std::vector<int64_t> words;    // tag: of each sentence
  int64_t cut = 0;               // samples that lost something

  int64_t size() const { return std::ssize(samples); }
  // The samples in their order, unshuffled, or in that of seed.
  std::unique_ptr<data::LabelSamples> source(const data::LabelForm& form, int64_t length,
                                             bool shuffle, uint64_t seed, LabelKind kind,
                                             bool types) const;
};

// Examples formed as texts, without their labels.
LabelData formed(const LabelHead& head, const data::LabelForm& form,
                 const std::vector<data::LabelledExample>& examples);
LabelData formed(const data::LabelForm& form, const std::vector<data::TaggedSentence>& sentences);

// Reads files with labels, by the columns. Usage errors as read_examples, read_conll and
// LabelSet::id.
LabelData read_labelled(const LabelHead& head, const data::LabelForm& form,
                        const LabelColumns& columns, const std::vector<std::string>& files);
// The same for training data: a head without labels gets those of the files, a head of numbers gets
// their mean and deviation.
LabelData read_training(LabelHead& head, const data::LabelForm& form, const LabelColumns& columns,
                        const std::vector<std::string>& files);

}  // namespace skein::train
