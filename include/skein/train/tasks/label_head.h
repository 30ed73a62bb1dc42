// What a head of labels says and how it is fed: all that is needed beside the tensors to use it. It
// is kept in the checkpoint's notes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/graphs/graph_form.h"
#include "skein/data/images/resize.h"
#include "skein/data/records/conll.h"
#include "skein/data/records/examples.h"
#include "skein/data/records/labels.h"
#include "skein/data/samples/label_form.h"
#include "skein/models/config.h"
#include "skein/train/task_notes.h"

namespace skein::train {

enum class LabelKind { classify, regress, tag };
enum class LabelMetric { automatic, accuracy, macro_f1, matthews, spearman, pearson, mse, f1 };

// Where examples have their parts.
struct LabelColumns {
  std::string text = "text", pair, label = "label";  // by name, or number from 1
  data::ExamplesFormat format = data::ExamplesFormat::automatic;
  data::Header header = data::Header::automatic;
  int64_t word = 1, tag = -1;  // of CoNLL files, from 1, or from -1 at the end
};

// Binds the columns under section "task".
void bind(Options& options, LabelColumns& columns);
data::ExamplesConfig examples_config(const LabelColumns& columns,
                                     const std::vector<std::string>& files, LabelKind kind,
                                     bool labelled);
data::ConllConfig conll_config(const LabelColumns& columns, const std::vector<std::string>& files,
                               bool labelled);

struct LabelHead {
  LabelKind kind = LabelKind::classify;
  LabelMetric metric = LabelMetric::accuracy;
  std::vector<std::string> labels{};  // of the ids; empty for regress, and for hidden patches
  double mean = 0, deviation = 1;     // regress: what is predicted is (value - mean) / deviation
  int64_t length = 128;               // tokens of the longest sample
  std::string separator = "\n";
  bool pairs = false;
  std::map<std::string, std::string> columns{};  // by option
  // of pictures: a mean and a deviation a channel; empty for texts
  std::vector<double> picture_mean{}, picture_deviation{};
  std::optional<data::GraphForm> graph{};  // of graphs: what of them is read
  // a decoder's samples: by the tokenizer's template, as LabelFormConfig has it
  bool framed = false;
  data::Fitting fitting{};  // of pictures: how files of them come to the model's size

  // Whether another program made the head; then nothing says whether it judges single texts or
  // pairs.
  bool imported() const { return columns.empty(); }
  bool reads_images() const { return !picture_mean.empty(); }
  bool reads_graphs() const { return graph.has_value(); }
  int64_t outputs() const { return kind == LabelKind::regress ? 1 : std::ssize(labels); }
  data::LabelForm form(const ModelConfig& model, const text::Tokenizer& tokenizer) const;
};

// Takes the mean and deviation of the numbers of data.train, of which there is one at least, for
// the head's; numbers that are all alike have a deviation of 1. A usage error where the sum of
// their squares is no double.
void take_units(LabelHead& head, const std::vector<double>& numbers);

// With their names, as options and notes give them.
const std::vector<std::pair<std::string, LabelKind>>& label_kinds();
const std::vector<std::pair<std::string, LabelMetric>>& label_metrics();
const char* name_of(LabelKind kind);
const char* name_of(LabelMetric metric);
// The metric that `asked` stands for where it is automatic, else `asked`. A usage error for one
// that does not belong to the kind; it names those that do.
LabelMetric metric_of(LabelKind kind, LabelMetric asked);

// checksum: of the training samples.
TaskNotes to_notes(const LabelHead& head, uint32_t checksum);
// The head that the notes describe; null where they are not of a head of labels. A usage error
// naming `origin` for damaged notes.
std::unique_ptr<LabelHead> label_head(const TaskNotes& notes, const std::string& origin);
uint32_t checksum_in(const TaskNotes& notes);

}  // namespace skein::train
