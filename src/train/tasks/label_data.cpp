#include "skein/train/tasks/label_data.h"

#include <cmath>

#include "skein/core/error.h"

namespace skein::train {
namespace {

void add_values(const LabelHead& head, const std::vector<data::LabelledExample>& examples,
                const data::ExamplesConfig& config, LabelData& data) {
  for (size_t i = 0; i < examples.size(); ++i) {
    data.values.push_back(examples[i].value);
    data.samples[i].value = static_cast<float>((examples[i].value - head.mean) / head.deviation);
    require(std::isfinite(data.samples[i].value),
            "{}: the number {} is too far from those that the model learns, of mean {} and "
            "deviation {}",
            where_of(examples[i], config), examples[i].value, head.mean, head.deviation);
  }
}

void add_classes(const LabelHead& head, const std::vector<data::LabelledExample>& examples,
                 const data::ExamplesConfig& config, LabelData& data) {
  data.classes = label_ids(data::LabelSet(head.labels), examples, config);
  for (size_t i = 0; i < data.samples.size(); ++i) data.samples[i].labels = {data.classes[i]};
}

LabelData labelled(const LabelHead& head, const data::LabelForm& form,
                   const std::vector<data::LabelledExample>& examples,
                   const data::ExamplesConfig& config) {
  LabelData data = formed(head, form, examples);
  if (head.kind == LabelKind::regress)
    add_values(head, examples, config, data);
  else
    add_classes(head, examples, config, data);
  return data;
}

LabelData labelled(const LabelHead& head, const data::LabelForm& form,
                   const std::vector<data::TaggedSentence>& sentences,
                   const data::ConllConfig& config) {
  const data::LabelSet labels(head.labels);
  LabelData data = formed(form, sentences);
  std::vector<std::vector<int32_t>> ids;
  for (const data::TaggedSentence& sentence : sentences) {
    data.tags.push_back(sentence.tags);
    ids.push_back(tag_ids(labels, sentence, config));
  }
  for (size_t i = 0; i < data.samples.size(); ++i) {
    const auto from = ids[data.windows[i].sentence].begin() + data.windows[i].first;
    data.samples[i].labels.assign(from, from + std::ssize(data.samples[i].form.places));
  }
  return data;
}

}  // namespace

std::unique_ptr<data::LabelSamples> LabelData::source(const data::LabelForm& form, int64_t length,
                                                      bool shuffle, uint64_t seed, LabelKind kind,
                                                      bool types) const {
  const data::PaddedShape padded{.length = length,
                                 .places = most_places(samples),
                                 .pad = form.pad(),
                                 .segments = form.encoder(),
                                 .types = types};
  const data::LabelBatchShape shape{padded, kind == LabelKind::regress};
  return std::make_unique<data::LabelSamples>(samples, shape, seed, shuffle);
}

LabelData formed(const LabelHead& head, const data::LabelForm& form,
                 const std::vector<data::LabelledExample>& examples) {
  LabelData data;
  for (const data::LabelledExample& example : examples) {
    data.samples.push_back(
        {head.pairs ? form.pair(example.text, example.pair) : form.text(example.text)});
    data.cut += data.samples.back().form.cut;
  }
  return data;
}

LabelData formed(const data::LabelForm& form, const std::vector<data::TaggedSentence>& sentences) {
  LabelData data;
  for (const data::TaggedSentence& sentence : sentences) {
    const auto number = std::ssize(data.words);
    data.words.push_back(std::ssize(sentence.words));
    for (data::FormedWords& window : form.words(sentence.words)) {
      data.cut += window.sample.cut;
      data.windows.push_back({number, window.first});
      data.samples.push_back({std::move(window.sample)});
    }
  }
  return data;
}

LabelData read_labelled(const LabelHead& head, const data::LabelForm& form,
                        const LabelColumns& columns, const std::vector<std::string>& files) {
  if (head.kind == LabelKind::tag) {
    const data::ConllConfig config = conll_config(columns, files, true);
    return labelled(head, form, read_conll(config), config);
  }
  const data::ExamplesConfig config = examples_config(columns, files, head.kind, true);
  return labelled(head, form, read_examples(config), config);
}

LabelData read_training(LabelHead& head, const data::LabelForm& form, const LabelColumns& columns,
                        const std::vector<std::string>& files) {
  if (head.kind == LabelKind::tag) {
    const data::ConllConfig config = conll_config(columns, files, true);
    const auto sentences = read_conll(config);
    if (head.labels.empty()) head.labels = labels_of(sentences).names();
    return labelled(head, form, sentences, config);
  }
  const data::ExamplesConfig config = examples_config(columns, files, head.kind, true);
  const auto examples = read_examples(config);
  if (head.kind == LabelKind::regress) {
    std::vector<double> numbers;
    for (const data::LabelledExample& example : examples) numbers.push_back(example.value);
    take_units(head, numbers);
  } else if (head.labels.empty()) {
    head.labels = labels_of(examples).names();
  }
  return labelled(head, form, examples, config);
}

}  // namespace skein::train
