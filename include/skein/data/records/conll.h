// Sentences of tagged words in columns, as the CoNLL shared tasks have them: a word a line with its
// tag in one of the columns, a line of nothing but white space after each sentence.
//
//   for (const TaggedSentence& sentence : read_conll({.files = {"train.conll"}}))
//     train(sentence.words, sentence.tags);
//
// Lines that begin with -DOCSTART- belong to no sentence. CRLF, a byte-order mark and a missing
// last blank line are tolerated; bytes that are no UTF-8 are kept, but an error in tags. gzip, xz
// and zstd are read through.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace skein::data {

enum class ColumnSeparator {
  automatic,  // a tab if the first word's line of the file holds one, else spaces
  tab,        // every tab divides, so that words may hold spaces
  spaces,     // runs of spaces and tabs divide
};

struct ConllConfig {
  std::vector<std::string> files{};  // "-" for stdin
  int64_t word = 1;                  // column of the word, from 1; from the end when negative
  int64_t tag = -1;                  // column of the tag, likewise; 0 for words without tags
  ColumnSeparator separator = ColumnSeparator::automatic;
  // a line that begins with this, ahead of a sentence's words or among them, is a comment; "": none
  std::string comment{};
  int64_t most_line_bytes = int64_t{1} << 20;
  int64_t most_words = 100'000;  // of a sentence
};

struct TaggedSentence {
  std::vector<std::string> words;
  std::vector<std::string> tags;  // one a word; empty for words without tags
  std::vector<std::string> rows;  // the words' lines as they were read, without line breaks
  std::vector<int64_t> lines;     // their numbers, from 1
  // -DOCSTART- lines and comments ahead of it (those among the words included)
  std::vector<std::string> ahead;
  bool by_tab = false;  // whether tabs divide the columns of its file
  int64_t file = 0;     // index into ConllConfig::files
};

// "train.conll:12", for messages about a word of a sentence.
std::string where_of(const TaggedSentence& sentence, size_t word, const ConllConfig& config);

class ConllFile;

// One file after the other in bounded memory. No sentence reaches over the end of a file.
class ConllReader {
 public:
  // A usage error for a configuration that contradicts itself.
  explicit ConllReader(ConllConfig config);
  ~ConllReader();

  // The next sentence, which has at least one word; false at the end. A usage error naming file and
  // line for: a line with another number of columns than the file's first, a column that is not
  // there, an empty word or tag, and a line or sentence that is too long.
  bool next(TaggedSentence& sentence);

 private:
  ConllConfig config_;
  std::unique_ptr<ConllFile> file_;
  size_t opened_ = 0;
};

// All sentences in order. A usage error as ConllReader, and for a file without any.
std::vector<TaggedSentence> read_conll(const ConllConfig& config);

// The sentence as it was read, with predicted[i] as one more column of word i, after a tab where
// tabs divide its file, else a space; then an empty line. -DOCSTART- lines have an empty line after
// them, comments have none. predicted: a tag a word.
void write_conll(std::ostream& out, const TaggedSentence& sentence,
                 const std::vector<std::string>& predicted);

}  // namespace skein::data
