#include "skein/data/records/labels.h"

#include <set>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/text/split/utf8.h"

namespace skein::data {
namespace {

LabelSet in_byte_order(const std::set<std::string>& names) {
  return LabelSet(std::vector<std::string>(names.begin(), names.end()));
}

}  // namespace

LabelSet::LabelSet(std::vector<std::string> names) : names_(std::move(names)) {
  require(!names_.empty(), "a set of labels needs at least one label");
  for (size_t i = 0; i < names_.size(); ++i) {
    require(!names_[i].empty(), "label {} of {} is empty", i + 1, names_.size());
    require(text::valid_utf8(names_[i]), "label {} of {}, \"{}\", is not valid UTF-8", i + 1,
            names_.size(), excerpt(names_[i]));
    const auto [other, is_new] = ids_.emplace(names_[i], narrow<int32_t>(i));
    require(is_new, "the label \"{}\" is given twice, as number {} and {}", excerpt(names_[i]),
            other->second + 1, i + 1);
  }
}

int32_t LabelSet::find(const std::string& label) const {
  const auto found = ids_.find(label);
  return found == ids_.end() ? -1 : found->second;
}

int32_t LabelSet::id(const std::string& label, std::string_view where) const {
  const int32_t id = find(label);
  require(id >= 0, "{}: the label \"{}\" is none of the {} known ones: {}{}", where, excerpt(label),
          size(), listed(names_), did_you_mean(label, names_));
  return id;
}

LabelSet labels_of(const std::vector<LabelledExample>& examples) {
  std::set<std::string> names;
  for (const LabelledExample& example : examples) names.insert(example.label);
  return in_byte_order(names);
}

LabelSet labels_of(const std::vector<TaggedSentence>& sentences) {
  std::set<std::string> names;
  for (const TaggedSentence& sentence : sentences)
    names.insert(sentence.tags.begin(), sentence.tags.end());
  return in_byte_order(names);
}

// Where a label stands is only put into words for one that is not found.
std::vector<int32_t> label_ids(const LabelSet& labels, const std::vector<LabelledExample>& examples,
                               const ExamplesConfig& config) {
  std::vector<int32_t> ids;
  ids.reserve(examples.size());
  for (const LabelledExample& example : examples) {
    const int32_t id = labels.find(example.label);
    ids.push_back(id >= 0 ? id : labels.id(example.label, where_of(example, config)));
  }
  return ids;
}

std::vector<int32_t> tag_ids(const LabelSet& labels, const TaggedSentence& sentence,
                             const ConllConfig& config) {
  std::vector<int32_t> ids;
  ids.reserve(sentence.tags.size());
  for (size_t word = 0; word < sentence.tags.size(); ++word) {
    const int32_t id = labels.find(sentence.tags[word]);
    ids.push_back(id >= 0 ? id : labels.id(sentence.tags[word], where_of(sentence, word, config)));
  }
  return ids;
}

}  // namespace skein::data
