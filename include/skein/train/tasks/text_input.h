// Texts that a command is given. Rank 0 reads them in parts and sends each part to all ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/core/log.h"
#include "skein/train/tasks/label_head.h"

namespace skein::train {

class TextInput {
 public:
  // path: CSV, TSV or JSONL by its name or columns.format; else a text a line; - for stdin. Opens
  // nothing yet.
  TextInput(std::string path, const LabelColumns& columns, bool pairs)
      : path_(std::move(path)), columns_(columns), pairs_(pairs) {}
  // Collective. The next texts, at most so many; none at the end. Usage errors of rank 0 are those
  // of every rank.
  std::vector<data::LabelledExample> next(size_t most, Group& world);

 private:
  void open();

  std::string path_;
  LabelColumns columns_;
  bool pairs_;
  std::unique_ptr<data::ExampleReader> reader_;
};

// The same for sentences in CoNLL columns. Rank 0 gets them as they were read, the other ranks get
// the words alone.
class SentenceInput {
 public:
  SentenceInput(const std::string& path, const LabelColumns& columns)
      : config_(conll_config(columns, {path}, false)) {}
  std::vector<data::TaggedSentence> next(size_t most, Group& world);

 private:
  data::ConllConfig config_;
  std::unique_ptr<data::ConllReader> reader_;
};

// Collective. Calls use(part) for every part of an input, of at most so many, and tells how many of
// `what` are done.
// Returns how many there are.
template <class Input, class Use>
int64_t each_part(Input& input, const char* what, Group& world, const Use& use,
                  size_t most = 1024) {
  int64_t done = 0;
  for (auto part = input.next(most, world); !part.empty(); part = input.next(most, world)) {
    use(part);
    done += std::ssize(part);
    log::info("{} {} done", done, what);
  }
  return done;
}

}  // namespace skein::train
