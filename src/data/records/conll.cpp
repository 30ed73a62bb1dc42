#include "skein/data/records/conll.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/files/line_reader.h"
#include "skein/text/split/utf8.h"

namespace skein::data {
namespace {

constexpr std::string_view kDocument = "-DOCSTART-";
constexpr std::string_view kSpaces = " \t";

void check(const ConllConfig& config) {
  require(!config.files.empty(), "no CoNLL file is named");
  require(config.word != 0, "the word's column is 0; columns count from 1, or from -1 at the end");
  require(config.word != config.tag,
          "word and tag are both column {}; they must be different columns", config.word);
  require(config.most_line_bytes > 0 && config.most_words > 0,
          "the longest line is {} bytes and the longest sentence {} words; both must be above 0",
          config.most_line_bytes, config.most_words);
}

std::vector<std::string_view> divided(std::string_view line, bool by_tab) {
  std::vector<std::string_view> columns;
  for (size_t at = 0; at <= line.size();) {
    if (!by_tab) at = std::min(line.find_first_not_of(kSpaces, at), line.size());
    if (!by_tab && at == line.size()) break;
    const size_t end =
        std::min(by_tab ? line.find('\t', at) : line.find_first_of(kSpaces, at), line.size());
    columns.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return columns;
}

}  // namespace

class ConllFile {
 public:
  ConllFile(const std::string& path, const ConllConfig& config)
      : name_(input_name(path)),
        config_(config),
        lines_(open_source(path), config.most_line_bytes) {}

  bool next(TaggedSentence& sentence) {
    sentence = {};
    for (std::string_view line; lines_.next(line);) {
      require(lines_.ends_line(), "{}:{}: the line is longer than {} bytes; is this a CoNLL file?",
              name_, lines_.number(), config_.most_line_bytes);
      line = without_break(line);
      const bool divides = blank(line) || line.starts_with(kDocument);
      if (divides && !sentence.words.empty()) {
        if (!blank(line)) waiting_ = line;
        return true;
      }
      if (waiting_) sentence.ahead.push_back(*std::exchange(waiting_, std::nullopt));
      if (blank(line)) continue;
      if (divides || is_comment(line))
        sentence.ahead.emplace_back(line);
      else
        add_word(sentence, line);
      check_length(sentence);
    }
    return !sentence.words.empty();
  }

 private:
  bool is_comment(std::string_view line) const {
    return !config_.comment.empty() && line.starts_with(config_.comment);
  }

  void add_word(TaggedSentence& sentence, std::string_view line) {
    if (width_ == 0) by_tab_ = divides_by_tab(line);
    const std::vector<std::string_view> columns = divided(line, by_tab_);
    if (width_ == 0) find_columns(columns.size());
    require(columns.size() == width_,
            "{}:{}: the line has {} columns divided by {}, but the first, line {}, has {}: {}",
            name_, lines_.number(), columns.size(), by_tab_ ? "tabs" : "spaces", first_line_,
            width_, excerpt(line));
    sentence.words.push_back(filled(columns[word_], "word"));
    if (config_.tag != 0) add_tag(sentence, columns[tag_]);
    sentence.rows.emplace_back(line);
    sentence.lines.push_back(lines_.number());
    sentence.by_tab = by_tab_;
  }

  void add_tag(TaggedSentence& sentence, std::string_view field) const {
    require(text::valid_utf8(field), "{}:{}: the tag \"{}\" is not valid UTF-8", name_,
            lines_.number(), excerpt(field));
    sentence.tags.push_back(filled(field, "tag"));
  }

  bool divides_by_tab(std::string_view line) const {
    if (config_.separator != ColumnSeparator::automatic)
      return config_.separator == ColumnSeparator::tab;
    return line.find('\t') != std::string_view::npos;
  }

  void find_columns(size_t width) {
    first_line_ = lines_.number();
    width_ = width;
    word_ = column("word", config_.word);
    if (config_.tag == 0) return;
    tag_ = column("tag", config_.tag);
    require(word_ != tag_,
            "{}:{}: word and tag are the same column, number {} of {}; are the tags missing?",
            name_, first_line_, word_ + 1, width_);
  }

  size_t column(const char* role, int64_t number) const {
    const int64_t width = width_;
    require(number >= -width && number <= width,
            "{}:{}: the {}'s column is {}, but the line has {} columns divided by {}", name_,
            first_line_, role, number, width, by_tab_ ? "tabs" : "spaces");
    return number > 0 ? number - 1 : width + number;
  }

  std::string filled(std::string_view field, const char* role) const {
    require(!blank(field), "{}:{}: the {} is empty", name_, lines_.number(), role);
    return std::string(field);
  }

  void check_length(const TaggedSentence& sentence) const {
    const size_t lines = std::max(sentence.words.size(), sentence.ahead.size());
    require(std::cmp_less_equal(lines, config_.most_words),
            "{}:{}: a sentence has more than {} words or comments; is there a blank line after "
            "each sentence?",
            name_, lines_.number(), config_.most_words);
  }

  std::string name_;
  ConllConfig config_;
  LineReader lines_;
  std::optional<std::string> waiting_;  // a -DOCSTART- line that ended a sentence
  bool by_tab_ = false;
  size_t width_ = 0;  // 0 until the first word
  int64_t first_line_ = 0;
  size_t word_ = 0, tag_ = 0;
};

std::string where_of(const TaggedSentence& sentence, size_t word, const ConllConfig& config) {
  return fmt::format("{}:{}", input_name(config.files.at(sentence.file)), sentence.lines.at(word));
}

ConllReader::ConllReader(ConllConfig config) : config_(std::move(config)) { check(config_); }

ConllReader::~ConllReader() = default;

bool ConllReader::next(TaggedSentence& sentence) {
  while (!file_ || !file_->next(sentence)) {
    if (opened_ == config_.files.size()) return false;
    file_ = std::make_unique<ConllFile>(config_.files[opened_++], config_);
  }
  sentence.file = opened_ - 1;
  return true;
}

std::vector<TaggedSentence> read_conll(const ConllConfig& config) {
  std::vector<TaggedSentence> sentences;
  std::vector<bool> seen(config.files.size());
  ConllReader reader(config);
  for (TaggedSentence sentence; reader.next(sentence);) {
    seen[sentence.file] = true;
    sentences.push_back(std::move(sentence));
  }
  for (size_t i = 0; i < seen.size(); ++i)
    require(seen[i], "{} holds no sentences", input_name(config.files[i]));
  return sentences;
}

void write_conll(std::ostream& out, const TaggedSentence& sentence,
                 const std::vector<std::string>& predicted) {
  SKEIN_CHECK_EQ(sentence.rows.size(), predicted.size());
  for (const std::string& line : sentence.ahead)
    out << line << (line.starts_with(kDocument) ? "\n\n" : "\n");
  for (size_t i = 0; i < predicted.size(); ++i)
    out << sentence.rows[i] << (sentence.by_tab ? '\t' : ' ') << predicted[i] << '\n';
  out << '\n';
}

}  // namespace skein::data
