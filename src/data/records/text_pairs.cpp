#include "skein/data/records/text_pairs.h"

#include <utility>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/files/byte_source.h"
#include "skein/data/files/left_out.h"
#include "skein/text/split/utf8.h"

namespace skein::data {
namespace {

ExamplesConfig examples_of(const PairsConfig& config) {
  return {.files = config.files,
          .format = config.format,
          .text = config.text,
          .label = config.label,
          .texts = true,
          .references = config.references,
          .header = config.header,
          .most_record_bytes = config.most_record_bytes};
}

std::unique_ptr<ExampleReader> lines_of(const std::string& path, const PairsConfig& config) {
  return std::make_unique<ExampleReader>(
      ExamplesConfig{.files = {path},
                     .format = ExamplesFormat::lines,
                     .label = "",
                     .most_record_bytes = config.most_record_bytes});
}

void check_files(const PairsConfig& config) {
  require(!config.files.empty(), "no file with pairs of texts is named");
  require(text::valid_utf8(config.prefix), "task.prefix is not valid UTF-8");
  if (config.targets.empty()) {
    require(!config.label.empty(), "no column of targets is named (task.label)");
    return;
  }
  require(config.targets.size() == config.files.size(),
          "{} files of sources and {} of targets were named; each needs its other side: {} and {}",
          config.files.size(), config.targets.size(), listed(config.files), listed(config.targets));
  require(config.references.empty(),
          "task.references are columns, but the pairs are lines of two files side by side");
  for (size_t i = 0; i < config.files.size(); ++i)
    require(config.files[i] != config.targets[i],
            "{} is named for the sources and for their targets; they must be different files",
            config.files[i]);
}

}  // namespace

void bind(Options& options, PairsConfig& c) {
  options.add("task.text", c.text,
              "column of the source, by name or number from 1; JSONL: its key");
  options.add("task.label", c.label, "column of the target");
  options.add_choice("task.format", c.format,
                     {{"auto", ExamplesFormat::automatic},
                      {"csv", ExamplesFormat::csv},
                      {"tsv", ExamplesFormat::tsv},
                      {"jsonl", ExamplesFormat::jsonl}},
                     "of the pairs; auto: by the files' names");
  options.add_choice("task.header", c.header,
                     {{"auto", Header::automatic}, {"yes", Header::yes}, {"no", Header::no}},
                     "whether the first row names the columns; auto: when one is given by name");
  bind_beside_columns(options, c);
  bind_bad_records(options, c);
}

void bind_bad_records(Options& options, PairsConfig& c) {
  options.add("data.bad_records", c.bad_records,
              "pairs to leave out, such as those with an empty side, before giving up", "pairs");
}

void bind_beside_columns(Options& options, PairsConfig& c) {
  options.add("task.references", c.references,
              "columns of other targets that are as good, for evaluation");
  options.add("task.prefix", c.prefix,
              "put before each source, such as \"translate English to German: \"");
}

std::string where_of(const TextPair& pair, const PairsConfig& config) {
  return fmt::format("{}:{}", input_name(config.files.at(pair.file)), pair.line);
}

void check_sides(const TextPair& pair, const PairsConfig& config) {
  for (const auto& [side, text] :
       {std::pair("source", &pair.source), std::pair("target", &pair.target)})
    require(!skein::trimmed(*text).empty(), "{}: the {} is empty", where_of(pair, config), side);
}

struct PairReader::Impl {
  explicit Impl(PairsConfig given) : config(std::move(given)) {
    check_files(config);
    if (config.targets.empty()) records = std::make_unique<ExampleReader>(examples_of(config));
  }

  bool next(TextPair& pair) { return records ? next_record(pair) : next_lines(pair); }

  bool next_record(TextPair& pair) {
    LabelledExample example;
    if (!records->next(example)) return false;
    pair = {std::move(example.text), std::move(example.label), std::move(example.references),
            example.file, example.line};
    return true;
  }

  bool next_lines(TextPair& pair) {
    LabelledExample source, target;
    while (true) {
      if (!sources && !open_next()) return false;
      const bool one = sources->next(source), other = targets->next(target);
      if (one && other) break;
      check_counts(one, other, source, target);
      finished += sources->bytes_read() + targets->bytes_read();
      sources.reset();
      targets.reset();
    }
    lines = source.line;
    pair = {std::move(source.text), std::move(target.text), {}, opened - 1, source.line};
    return true;
  }

  bool open_next() {
    if (std::cmp_equal(opened, config.files.size())) return false;
    lines = 0;
    sources = lines_of(config.files[opened], config);
    targets = lines_of(config.targets[opened], config);
    ++opened;
    return true;
  }

  // At the end of the shorter one.
  void check_counts(bool one, bool other, LabelledExample& source, LabelledExample& target) {
    int64_t first = lines, second = lines;
    for (; one; one = sources->next(source)) ++first;
    for (; other; other = targets->next(target)) ++second;
    require(first == second,
            "{} has {} lines, but {} has {}; line by line they must be the two sides of a pair",
            input_name(config.files[opened - 1]), first, input_name(config.targets[opened - 1]),
            second);
  }

  PairsConfig config;
  std::unique_ptr<ExampleReader> records;
  std::unique_ptr<ExampleReader> sources, targets;  // of lines
  int64_t opened = 0, lines = 0, finished = 0;
};

PairReader::PairReader(PairsConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}
PairReader::~PairReader() = default;

bool PairReader::next(TextPair& pair) { return impl_->next(pair); }

int64_t PairReader::bytes_read() const {
  if (impl_->records) return impl_->records->bytes_read();
  if (!impl_->sources) return impl_->finished;
  return impl_->finished + impl_->sources->bytes_read() + impl_->targets->bytes_read();
}

std::vector<TextPair> read_pairs(const PairsConfig& config) {
  std::vector<TextPair> pairs;
  std::vector<bool> seen(config.files.size());
  int64_t left_out = 0;
  PairReader reader(config);
  for (TextPair pair; reader.next(pair);)
    use_or_leave_out(config.bad_records, left_out, [&] {
      check_sides(pair, config);
      seen[pair.file] = true;
      pairs.push_back(std::move(pair));
    });
  tell_more_left_out(left_out);
  for (size_t i = 0; i < seen.size(); ++i)
    require(seen[i], "{} holds no pair that can be used", input_name(config.files[i]));
  return pairs;
}

}  // namespace skein::data
