#include "skein/train/tasks/label_head.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"
#include "skein/models/architecture.h"

namespace skein::train {
namespace {

// The first is the one that is taken by itself.
std::vector<LabelMetric> metrics_of(LabelKind kind) {
  switch (kind) {
    case LabelKind::classify:
      return {LabelMetric::accuracy, LabelMetric::macro_f1, LabelMetric::matthews};
    case LabelKind::regress: return {LabelMetric::spearman, LabelMetric::pearson, LabelMetric::mse};
    case LabelKind::tag: return {LabelMetric::f1};
  }
  return {};
}

template <class Value>
using Names = std::vector<std::pair<std::string, Value>>;

template <class Value>
const char* name_in(const Names<Value>& names, Value value) {
  return std::ranges::find(names, value, &std::pair<std::string, Value>::second)->first.c_str();
}

template <class Value>
Value value_in(const Names<Value>& names, const std::string& name) {
  for (const auto& [known, value] : names)
    if (name == known) return value;
  fail_usage("\"{}\" is no word of this version", name);
}

}  // namespace

const std::vector<std::pair<std::string, LabelKind>>& label_kinds() {
  static const Names<LabelKind> all{
      {"classify", LabelKind::classify}, {"regress", LabelKind::regress}, {"tag", LabelKind::tag}};
  return all;
}

const std::vector<std::pair<std::string, LabelMetric>>& label_metrics() {
  static const Names<LabelMetric> all{
      {"auto", LabelMetric::automatic},    {"accuracy", LabelMetric::accuracy},
      {"macro_f1", LabelMetric::macro_f1}, {"matthews", LabelMetric::matthews},
      {"spearman", LabelMetric::spearman}, {"pearson", LabelMetric::pearson},
      {"mse", LabelMetric::mse},           {"f1", LabelMetric::f1}};
  return all;
}

const char* name_of(LabelKind kind) { return name_in(label_kinds(), kind); }
const char* name_of(LabelMetric metric) { return name_in(label_metrics(), metric); }

void bind(Options& options, LabelColumns& c) {
  options.add("task.text", c.text, "column of the text, by name or number from 1; JSONL: its key");
  options.add("task.pair", c.pair, "column of the second text; empty: single texts");
  options.add("task.label", c.label, "column of the label");
  options.add_choice("task.format", c.format,
                     {{"auto", data::ExamplesFormat::automatic},
                      {"csv", data::ExamplesFormat::csv},
                      {"tsv", data::ExamplesFormat::tsv},
                      {"jsonl", data::ExamplesFormat::jsonl}},
                     "of the examples; auto: by the files' names");
  options.add_choice(
      "task.header", c.header,
      {{"auto", data::Header::automatic}, {"yes", data::Header::yes}, {"no", data::Header::no}},
      "whether the first row names the columns; auto: when one is given by name");
  options.add("task.word_column", c.word,
              "tag: column of the word in CoNLL files, from 1, or from -1 at the end");
  options.add("task.tag_column", c.tag, "tag: column of the tag");
}

data::ExamplesConfig examples_config(const LabelColumns& c, const std::vector<std::string>& files,
                                     LabelKind kind, bool labelled) {
  return {.files = files,
          .format = c.format,
          .text = c.text,
          .pair = c.pair,
          .label = labelled ? c.label : "",
          .numbers = labelled && kind == LabelKind::regress,
          .header = c.header};
}

data::ConllConfig conll_config(const LabelColumns& c, const std::vector<std::string>& files,
                               bool labelled) {
  require(c.tag != 0, "task.tag_column is 0; columns count from 1, or from -1 at the end");
  return {.files = files, .word = c.word, .tag = labelled ? c.tag : 0};
}

data::LabelForm LabelHead::form(const ModelConfig& model, const text::Tokenizer& tokenizer) const {
  return data::LabelForm(tokenizer,
                         {model.architecture->sees_ahead(), length, separator, true, framed});
}

// In two passes: the difference of large sums of squares would have nothing of small deviations.
void take_units(LabelHead& head, const std::vector<double>& numbers) {
  const auto count = static_cast<double>(numbers.size());
  head.mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
  double squares = 0;
  for (const double number : numbers) squares += (number - head.mean) * (number - head.mean);
  require(std::isfinite(squares),
          "the numbers of data.train are too large: the sum of their squares is beyond 1.8e308; "
          "give them in a larger unit");
  const auto [least, most] = std::ranges::minmax(numbers);
  head.deviation = least < most && squares > 0 ? std::sqrt(squares / count) : 1;
}

LabelMetric metric_of(LabelKind kind, LabelMetric asked) {
  const std::vector<LabelMetric> known = metrics_of(kind);
  if (asked == LabelMetric::automatic) return known.front();
  std::vector<std::string> names;
  for (LabelMetric metric : known) names.emplace_back(name_of(metric));
  require(std::ranges::find(known, asked) != known.end(),
          "task.metric={} does not measure task.kind={}; use one of {}", name_of(asked),
          name_of(kind), fmt::join(names, ", "));
  return asked;
}

namespace {

nlohmann::ordered_json to_json(const data::GraphForm& form) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const data::GraphInput& input : form.inputs)
    inputs.push_back(
        {{"column", input.column}, {"size", input.size}, {"names_sum", input.names_sum}});
  return {{"inputs", inputs}, {"random", form.random}, {"of_nodes", form.of_nodes}};
}

data::GraphForm graph_form_in(const nlohmann::ordered_json& json, const std::string& origin) {
  data::GraphForm made;
  for (const auto& input : json.at("inputs")) {
    made.inputs.push_back({input.at("column"), whole<int64_t>(input.at("size"), "size", origin),
                           whole<uint32_t>(input.at("names_sum"), "names_sum", origin)});
    const data::GraphInput& one = made.inputs.back();
    require(one.size > 0 && one.size < int64_t{1} << 31 &&
                data::kind_of_input(one.column) != data::GraphInputKind::other,
            "\"{}\" with {} of them is no input", one.column, one.size);
  }
  made.random = whole<int64_t>(json.at("random"), "random", origin);
  made.of_nodes = json.at("of_nodes");
  return made;
}

nlohmann::ordered_json pictures_of(const LabelHead& head) {
  nlohmann::ordered_json made{{"mean", head.picture_mean}, {"deviation", head.picture_deviation}};
  const data::Fitting& how = head.fitting;
  if (how == data::Fitting{}) return made;
  made["fit"] = name_of(how.fit);
  made["resampling"] = name_of(how.resampling);
  if (how.height > 0) made["middle_of"] = {how.height, how.width};
  return made;
}

void take_pictures(const nlohmann::ordered_json& json, const std::string& origin, LabelHead& head) {
  head.picture_mean = json.at("mean").get<std::vector<double>>();
  head.picture_deviation = json.at("deviation").get<std::vector<double>>();
  if (!json.contains("fit")) return;
  head.fitting.fit = value_in(data::fits(), json.at("fit"));
  head.fitting.resampling = value_in(data::resamplings(), json.at("resampling"));
  if (!json.contains("middle_of")) return;
  head.fitting.height = whole<int64_t>(json["middle_of"].at(0), "middle_of", origin);
  head.fitting.width = whole<int64_t>(json["middle_of"].at(1), "middle_of", origin);
}

}  // namespace

TaskNotes to_notes(const LabelHead& head, uint32_t checksum) {
  nlohmann::ordered_json json{
      {"task", "labels"},      {"kind", name_of(head.kind)},  {"metric", name_of(head.metric)},
      {"labels", head.labels}, {"mean", head.mean},           {"deviation", head.deviation},
      {"length", head.length}, {"separator", head.separator}, {"pairs", head.pairs},
      {"framed", head.framed}, {"columns", head.columns},     {"training_checksum", checksum}};
  if (head.reads_images()) json["pictures"] = pictures_of(head);
  if (head.graph) json["graphs"] = to_json(*head.graph);
  return TaskNotes(json.dump());
}

std::unique_ptr<LabelHead> label_head(const TaskNotes& notes, const std::string& origin) {
  if (notes.empty()) return nullptr;
  try {
    const nlohmann::ordered_json& json = *notes;
    if (json.value("task", "") != "labels") return nullptr;
    auto head = std::make_unique<LabelHead>();
    head->kind = value_in(label_kinds(), json.at("kind"));
    head->metric = value_in(label_metrics(), json.at("metric"));
    head->labels = json.at("labels").get<std::vector<std::string>>();
    head->mean = json.at("mean");
    head->deviation = json.at("deviation");
    head->length = whole<int64_t>(json.at("length"), "length", origin);
    head->separator = json.at("separator");
    head->pairs = json.at("pairs");
    head->framed = json.value("framed", false);
    if (json.contains("pictures")) take_pictures(json["pictures"], origin, *head);
    if (json.contains("graphs")) head->graph = graph_form_in(json["graphs"], origin);
    head->columns = json.at("columns").get<std::map<std::string, std::string>>();
    return head;
  } catch (const std::exception& error) {
    fail_usage("the notes of {} on its labels cannot be read: {}", origin,
               json_fault(error.what()));
  }
}

uint32_t checksum_in(const TaskNotes& notes) { return notes->at("training_checksum"); }

}  // namespace skein::train
