#include "skein/data/stories/story_store.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <span>
#include <unordered_map>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/philox.h"
#include "skein/core/strings.h"
#include "skein/data/columns/record_sink.h"
#include "skein/data/corpus/corpus.h"
#include "skein/data/files/byte_source.h"
#include "skein/data/files/line_reader.h"

#include "data/files/spool.h"

namespace skein::data {
namespace {

constexpr const char *kWords = "word", *kSentenceStarts = "sentence_starts", *kSupport = "support",
                     *kAnswerColumn = "answer", *kTask = "task";
constexpr int64_t kMostWordBytes = 1 << 16;

ColumnInfo whole_numbers(const char* name) {
  return {
      .name = name, .meaning = PlainMeaning{}, .ragged = true, .type = kHdf5U32, .row_shape = {}};
}

class Vocabulary {
 public:
  // kUnknownWord stands ahead of the others.
  explicit Vocabulary(std::vector<std::string> words) : words_(std::move(words)) {
    if (words_.empty() || words_.front() != kUnknownWord)
      words_.insert(words_.begin(), kUnknownWord);
    for (size_t i = 0; i < words_.size(); ++i) ids_.emplace(words_[i], narrow<int32_t>(i));
  }
  const std::vector<std::string>& words() const { return words_; }
  int32_t id(const std::string& word) const {
    const auto found = ids_.find(word);
    return found == ids_.end() ? 0 : found->second;
  }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, int32_t> ids_;
};

std::vector<std::string> learnt_words(const std::vector<Story>& stories) {
  std::set<std::string> made;
  for (const Story& story : stories) {
    for (const auto& words : story.sentences) made.insert(words.begin(), words.end());
    for (const StoryQuestion& question : story.questions) {
      made.insert(question.words.begin(), question.words.end());
      made.insert(question.answer);
    }
  }
  return {made.begin(), made.end()};
}

std::vector<std::string> listed_words(const std::string& path) {
  LineReader lines(open_source(path), kMostWordBytes);
  std::vector<std::string> made;
  std::set<std::string> known;
  for (std::string_view line; lines.next(line);) {
    const std::string word(without_break(line)), where = fmt::format("{}:{}", path, lines.number());
    require(lines.ends_line() && !blank(word), "{}: a word belongs on each line", where);
    require(known.insert(word).second, "{}: \"{}\" is there twice", where, excerpt(word));
    made.push_back(word);
  }
  require(!made.empty(), "stories.vocabulary={} has no words", path);
  return made;
}

Vocabulary vocabulary_for(const StoryStoreConfig& config, const std::vector<Story>& stories) {
  if (config.vocabulary.empty()) return Vocabulary(learnt_words(stories));
  if (!is_record_store(config.vocabulary)) return Vocabulary(listed_words(config.vocabulary));
  return Vocabulary(StoryRecords(std::make_shared<const Records>(config.vocabulary)).vocabulary());
}

std::vector<std::string> tasks_of(const std::vector<Story>& stories) {
  std::vector<std::string> made;
  for (const Story& story : stories)
    if (std::ranges::find(made, story.task) == made.end()) made.push_back(story.task);
  return made;
}

// A story's questions stay together.
std::vector<bool> held_out(const StoryStoreConfig& config, size_t stories) {
  const uint64_t key = derive_key(config.seed, "held-out stories");
  std::vector<bool> made;
  for (size_t i = 0; i < stories; ++i) {
    const PhiloxBlock bits = philox(key, 0, i);
    made.push_back(uniform_double(bits[0], bits[1]) < config.validation_fraction);
  }
  return made;
}

class StoryWriter {
 public:
  StoryWriter(const std::string& path, const StoryStoreConfig& config, const Vocabulary& vocabulary,
              const std::vector<std::string>& tasks)
      : vocabulary_(vocabulary),
        tasks_(tasks),
        writer_(path,
                {category_column(kWords, vocabulary.words(), true), whole_numbers(kSentenceStarts),
                 whole_numbers(kSupport), category_column(kAnswerColumn, vocabulary.words()),
                 category_column(kTask, tasks)},
                existing(config.replace)) {
    const auto& columns = writer_.columns();
    for (size_t i = 0; i < columns.size(); ++i) number_.emplace(columns[i].name, i);
  }

  void add(const Story& story, const StoryQuestion& question) {
    std::vector<uint32_t> starts;
    uint32_t words = 0;
    const auto add_words = [&](const std::vector<std::string>& all) {
      starts.push_back(words);
      words += narrow<uint32_t>(all.size());
      for (const std::string& word : all)
        writer_.add_category(number_.at(kWords), known(word, unknown_words_));
    };
    for (int64_t i = 0; i < question.sentences; ++i) add_words(story.sentences[i]);
    add_words(question.words);
    starts.push_back(words);
    add_numbers(kSentenceStarts, starts);
    add_numbers(kSupport, {question.support.begin(), question.support.end()});
    writer_.add_category(number_.at(kAnswerColumn), known(question.answer, unknown_answers_));
    writer_.add_category(number_.at(kTask),
                         narrow<int32_t>(std::ranges::find(tasks_, story.task) - tasks_.begin()));
    writer_.end_record();
  }
  void finish(StoryCounts& counts) {
    writer_.finish();
    counts.unknown_words += unknown_words_;
    counts.unknown_answers += unknown_answers_;
  }

 private:
  int32_t known(const std::string& word, int64_t& unknown) const {
    const int32_t id = vocabulary_.id(word);
    unknown += id == 0;
    return id;
  }
  void add_numbers(const char* column, const std::vector<uint32_t>& values) {
    writer_.add_rows(number_.at(column), std::as_bytes(std::span(values)));
  }

  const Vocabulary& vocabulary_;
  const std::vector<std::string>& tasks_;
  RecordWriter writer_;
  int64_t unknown_words_ = 0, unknown_answers_ = 0;
  std::unordered_map<std::string, size_t> number_;
};

class TextWriter {
 public:
  TextWriter(std::string path, const StoryStoreConfig& config)
      : path_(std::move(path)),
        existing_(existing(config.replace)),
        file_(unique_stem(file_target(path_, existing_))) {
    append("text\tlabel\ttask\n");
  }
  void add(const Story& story, const StoryQuestion& question) {
    std::string text;
    for (int64_t i = 0; i < question.sentences; ++i)
      text += fmt::format("{} . ", fmt::join(story.sentences[i], " "));
    append(fmt::format("{}{} ?\t{}\t{}\n", text, fmt::join(question.words, " "), question.answer,
                       story.task));
  }
  void finish(StoryCounts&) { file_.publish(file_target(path_, existing_), existing_); }

 private:
  void append(const std::string& text) { file_.append(std::as_bytes(std::span(text))); }

  std::string path_;
  ExistingFile existing_;
  Spool file_;
};

void check(const StoryStoreConfig& c) {
  check_output("output.path", c.output, c.files.inputs, existing(c.replace));
  require(c.validation_fraction >= 0 && c.validation_fraction < 1,
          "stories.validation_fraction={} must be at least 0 and below 1", c.validation_fraction);
  require((c.validation_fraction > 0) == !c.validation.empty(),
          "stories.validation_fraction={} and output.validation=\"{}\": give both, or neither",
          c.validation_fraction, c.validation);
  require(c.form == StoryForm::records || c.vocabulary.empty(),
          "stories.vocabulary={} is for stores, but stories.form=text writes the words themselves; "
          "leave it out",
          c.vocabulary);
  if (c.validation.empty()) return;
  std::vector<std::string> taken = c.files.inputs;
  taken.push_back(c.output);
  check_output("output.validation", c.validation, taken, existing(c.replace));
}

// writer(path) makes what takes questions.
template <class MakeWriter>
StoryCounts write_all(const StoryStoreConfig& config, const std::vector<Story>& stories,
                      const MakeWriter& writer) {
  StoryCounts made{.stories = std::ssize(stories)};
  const std::vector<bool> held = held_out(config, stories.size());
  const bool divides = !config.validation.empty();
  auto training = writer(config.output);
  auto validation = divides ? writer(config.validation) : nullptr;
  for (size_t i = 0; i < stories.size(); ++i)
    for (const StoryQuestion& question : stories[i].questions) {
      (held[i] ? *validation : *training).add(stories[i], question);
      ++(held[i] ? made.held_out : made.questions);
    }
  require(
      made.questions > 0 && (!divides || made.held_out > 0),
      "stories.validation_fraction={} leaves {} questions to learn and {} to be judged by; give "
      "another fraction, or another stories.seed",
      config.validation_fraction, made.questions, made.held_out);
  training->finish(made);
  if (divides) validation->finish(made);
  return made;
}

}  // namespace

void bind(Options& options, StoryStoreConfig& c) {
  bind(options, c.files);
  options.add("stories.vocabulary", c.vocabulary,
              "whose words are known: a store of stories, or a text with a word a line; empty: all "
              "that there are");
  options.add("stories.validation_fraction", c.validation_fraction,
              "part of the stories held out for output.validation");
  options.add("stories.seed", c.seed, "chooses the held-out stories");
  options.add_choice("stories.form", c.form,
                     {{"records", StoryForm::records}, {"text", StoryForm::text}},
                     "records: a store of stories; text: a TSV with columns text, label and task, "
                     "for models that read texts");
  options.add("output.path", c.output, "the store to write");
  options.add("output.validation", c.validation, "another one, for the held-out part");
}

StoryCounts write_stories(const StoryStoreConfig& config) {
  check(config);
  const std::vector<Story> stories = read_stories(config.files);
  if (config.form == StoryForm::text)
    return write_all(config, stories, [&](const std::string& path) {
      return std::make_unique<TextWriter>(path, config);
    });
  const Vocabulary vocabulary = vocabulary_for(config, stories);
  const std::vector<std::string> tasks = tasks_of(stories);
  StoryCounts made = write_all(config, stories, [&](const std::string& path) {
    return std::make_unique<StoryWriter>(path, config, vocabulary, tasks);
  });
  made.words = std::ssize(vocabulary.words()) - 1;
  made.tasks = std::ssize(tasks);
  return made;
}

namespace {

const std::vector<std::string>& names_in(const Records& records, size_t column) {
  const ColumnInfo& info = records.columns()[column].info;
  const auto* categories = std::get_if<CategoryMeaning>(&info.meaning);
  require(categories != nullptr,
          "{} is no store of stories: its column \"{}\" holds no categories; `skein-data stories` "
          "makes one",
          records.name(), info.name);
  return categories->names;
}

}  // namespace

bool holds_stories(const Records& records) {
  return std::ranges::any_of(
      records.columns(), [](const Column& column) { return column.info.name == kSentenceStarts; });
}

StoryRecords::StoryRecords(std::shared_ptr<const Records> records)
    : records_(std::move(records)),
      words_(records_->column(kWords)),
      starts_(records_->column(kSentenceStarts)),
      support_(records_->column(kSupport)),
      answer_(records_->column(kAnswerColumn)),
      task_(records_->column(kTask)),
      vocabulary_(&names_in(*records_, words_)),
      tasks_(&names_in(*records_, task_)) {
  require(names_in(*records_, answer_) == *vocabulary_ && vocabulary_->front() == kUnknownWord,
          "{} is no store of stories: its answers have other names than its words, or the first of "
          "these is not {}",
          records_->name(), kUnknownWord);
  for (const size_t column : {starts_, support_}) {
    const ColumnInfo& info = records_->columns()[column].info;
    require(info.ragged && info.row_shape.empty() && info.type.bytes == 4 &&
                info.type.kind == Hdf5Type::Kind::integer && !info.type.is_signed,
            "{} is no store of stories: its column \"{}\" is not u32 with any number of rows a "
            "record; `skein-data stories` makes one",
            records_->name(), info.name);
  }
}

std::vector<int64_t> StoryRecords::numbers(size_t column, int64_t record) const {
  const std::span<const std::byte> bytes = records_->values(column, record);
  std::vector<uint32_t> made(bytes.size() / sizeof(uint32_t));
  if (!made.empty()) std::memcpy(made.data(), bytes.data(), made.size() * sizeof(uint32_t));
  return {made.begin(), made.end()};
}

StoryRecord StoryRecords::record(int64_t number) const {
  StoryRecord made{.words = records_->categories(words_, number),
                   .starts = numbers(starts_, number),
                   .support = numbers(support_, number),
                   .answer = records_->category(answer_, number),
                   .task = records_->category(task_, number)};
  const auto& starts = made.starts;
  const bool rise = starts.size() >= 2 && starts.front() == 0 &&
                    std::ranges::adjacent_find(starts, std::greater_equal<>()) == starts.end() &&
                    starts.back() == std::ssize(made.words);
  require(rise && std::ranges::is_sorted(made.support) &&
              (made.support.empty() || made.support.back() < made.sentences()),
          "{} is damaged: the sentences of record {} do not rise from 0 to its {} words, or its "
          "support is none of them; copy it again or make it again",
          records_->name(), number, made.words.size());
  return made;
}

}  // namespace skein::data
