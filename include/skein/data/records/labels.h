// The labels of a task and their ids.
//
//   const LabelSet labels = labels_of(read_examples(training));      // stored with the model
//   const std::vector<int32_t> wanted = label_ids(labels, validation_examples, validation);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "skein/data/records/conll.h"
#include "skein/data/records/examples.h"

namespace skein::data {

class LabelSet {
 public:
  LabelSet() = default;
  // Ids in this order. A usage error for none, an empty label, one that is no UTF-8 and one given
  // twice.
  explicit LabelSet(std::vector<std::string> names);

  int64_t size() const { return std::ssize(names_); }
  const std::vector<std::string>& names() const { return names_; }  // by id
  const std::string& name(int32_t id) const { return names_.at(id); }
  // -1 for a label that is not in the set.
  int32_t find(const std::string& label) const;
  // A usage error naming `where`, the label and the nearest known one when it is not in the set.
  int32_t id(const std::string& label, std::string_view where) const;

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, int32_t> ids_;
};

// The distinct labels in byte order.
LabelSet labels_of(const std::vector<LabelledExample>& examples);
LabelSet labels_of(const std::vector<TaggedSentence>& sentences);

// The id of each example's label. A usage error as LabelSet::id, with the example's file and line.
std::vector<int32_t> label_ids(const LabelSet& labels, const std::vector<LabelledExample>& examples,
                               const ExamplesConfig& config);
// The ids of a sentence's tags, likewise.
std::vector<int32_t> tag_ids(const LabelSet& labels, const TaggedSentence& sentence,
                             const ConllConfig& config);

}  // namespace skein::data
