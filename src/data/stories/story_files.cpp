#include "skein/data/stories/story_files.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/data/corpus/corpus.h"
#include "skein/data/files/line_reader.h"
#include "skein/text/split/utf8.h"
#include "skein/text/split/words.h"

#include "data/files/input_files.h"

namespace skein::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostLineBytes = 1 << 16, kMostNumber = 1'000'000, kMostSentences = 4096;

// "qa1_single-supporting-fact" of "babi.tar/en/qa1_single-supporting-fact_train.txt.gz".
std::string task_of(const std::string& name) {
  std::string made = fs::path(name).filename().native();
  made = made.substr(0, made.find('.', 1));
  for (const std::string_view end : {"_train", "_test", "_valid", "_validation"})
    if (made.size() > end.size() && made.ends_with(end))
      return made.substr(0, made.size() - end.size());
  return made;
}

std::vector<std::string_view> between_tabs(std::string_view text) {
  std::vector<std::string_view> made;
  for (size_t at = 0;;) {
    const size_t end = text.find('\t', at);
    made.push_back(text.substr(at, end == text.npos ? end : end - at));
    if (end == text.npos) return made;
    at = end + 1;
  }
}

// Reads the lines of one file.
class StoryFile {
 public:
  StoryFile(std::unique_ptr<ByteSource> source, const std::string& name, std::vector<Story>& into)
      : name_(name), task_(task_of(name)), lines_(std::move(source), kMostLineBytes), into_(into) {}

  void read() {
    std::string_view line;
    while (lines_.next(line)) {
      require(lines_.ends_line(), "{}: the line is longer than {} bytes", where(), kMostLineBytes);
      if (!blank(line)) read_line(without_break(line));
    }
    require(questions_ > 0,
            "{} has no question: that is a line with a tab and an answer behind it, \"3 Where is "
            "Mary?<tab>bathroom<tab>1\"",
            name_);
  }

 private:
  std::string where() const { return fmt::format("{}:{}", name_, lines_.number()); }

  void read_line(std::string_view line) {
    require(text::valid_utf8(line), "{}: \"{}\" is not valid UTF-8", where(), excerpt(line));
    const size_t end = std::min(line.find(' '), line.size());
    take_number(line.substr(0, end));
    const auto fields = between_tabs(line.substr(end));
    if (fields.size() == 1)
      add_sentence(fields[0]);
    else
      add_question(fields);
  }

  // Of the line; a story begins with 1.
  void take_number(std::string_view text) {
    const auto number = parsed_number<int64_t>(text);
    require(number && *number >= 1 && *number <= kMostNumber,
            "{}: the line begins with \"{}\"; a number from 1 to {} and a blank belong there",
            where(), excerpt(text), kMostNumber);
    if (*number == 1) {
      into_.push_back({.task = task_, .where = where()});
      sentence_of_.clear();
    } else {
      require(last_ > 0, "{}: the first line of a story has the number {}; it must be 1", where(),
              *number);
      require(*number > last_,
              "{}: number {} follows on {}; numbers rise, and begin anew with 1 in each story",
              where(), *number, last_);
    }
    last_ = *number;
  }

  std::vector<std::string> words_of(std::string_view text, const char* what) const {
    std::vector<std::string> words = text::folded_words(text);
    require(!words.empty(), "{}: a {} without a word: \"{}\"", where(), what, excerpt(text));
    return words;
  }

  void add_sentence(std::string_view text) {
    Story& story = into_.back();
    require(std::ssize(story.sentences) < kMostSentences,
            "{}: the story has more than {} sentences; does it begin anew with 1 somewhere?",
            where(), kMostSentences);
    sentence_of_[last_] = std::ssize(story.sentences);
    story.sentences.push_back(words_of(text, "sentence"));
  }

  void add_question(const std::vector<std::string_view>& fields) {
    require(fields.size() <= 3,
            "{}: the line has {} tabs; a question has one before its answer and "
            "one before the numbers of its sentences",
            where(), fields.size() - 1);
    Story& story = into_.back();
    StoryQuestion made{.sentences = std::ssize(story.sentences),
                       .words = words_of(fields[0], "question"),
                       .answer = text::folded(fields[1]),
                       .where = where()};
    require(!made.answer.empty(), "{}: the question has no answer", where());
    if (fields.size() == 3) made.support = support_of(fields[2]);
    story.questions.push_back(std::move(made));
    ++questions_;
  }

  std::vector<int64_t> support_of(std::string_view text) const {
    std::vector<int64_t> made;
    for (size_t at = text.find_first_not_of(kBlanks); at != text.npos;) {
      const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
      const std::string_view word = text.substr(at, end - at);
      const auto number = parsed_number<int64_t>(word);
      const auto found = number ? sentence_of_.find(*number) : sentence_of_.end();
      require(found != sentence_of_.end(),
              "{}: the answer is said to follow from \"{}\", which is the number of no sentence of "
              "this story before the question",
              where(), excerpt(word));
      made.push_back(found->second);
      at = text.find_first_not_of(kBlanks, end);
    }
    std::ranges::sort(made);
    made.erase(std::unique(made.begin(), made.end()), made.end());
    return made;
  }

  std::string name_, task_;
  LineReader lines_;
  std::vector<Story>& into_;
  int64_t last_ = 0, questions_ = 0;
  std::map<int64_t, int64_t> sentence_of_{};  // by the number of its line
};

bool is_asked_for(const std::string& name, const std::string& part) {
  return fs::path(name).filename().native().find(part) != std::string::npos;
}

}  // namespace

void bind(Options& options, StoryFilesConfig& c) {
  options.add("stories.part", c.part,
              "of archives and folders the files in whose name this stands, such as train; empty: "
              "all");
}

std::vector<Story> read_stories(const StoryFilesConfig& config) {
  std::vector<Story> made;
  SkippedFiles skipped;
  int64_t others = 0;
  const auto named = [&](const std::string& path) {
    return std::ranges::find(config.inputs, path) != config.inputs.end();
  };
  for (const std::string& path : expand_inputs(config.inputs)) {
    InputFiles files(path, skipped, !named(path));
    while (auto source = files.next()) {
      const bool whole = named(path) && !files.archive();
      if (whole || is_asked_for(files.name(), config.part))
        StoryFile(std::move(source), files.name(), made).read();
      else
        ++others;
    }
  }
  if (const std::string line = skipped.line(); !line.empty()) log::info("{}", line);
  require(!made.empty(),
          "no story was found in {}: none of {} files has \"{}\" (stories.part) in its name",
          listed(config.inputs), others, config.part);
  return made;
}

}  // namespace skein::data
