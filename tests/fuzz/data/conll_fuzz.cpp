// Columns of tagged words: the first byte chooses the columns and what divides them; what is read
// is written out and read again.
#include <sstream>

#include "skein/data/records/conll.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  static const skein::test::FuzzFile file("x.conll"), again("y.conll");
  file.write(input);
  skein::data::ConllConfig config;
  config.files = {file.path()};
  config.word = 1 + (choice & 1);
  config.tag = choice & 2 ? -1 : 0;
  config.separator = static_cast<skein::data::ColumnSeparator>((choice >> 2 & 3) % 3);
  if (choice & 16) config.comment = "#";
  config.most_line_bytes = 4096;
  config.most_words = 1000;
  const auto sentences = skein::data::read_conll(config);
  std::ostringstream out;
  out << '\n';  // for a byte order mark that begins a word is the file's where it begins the file,
                // too
  for (const skein::data::TaggedSentence& sentence : sentences) {
    if (sentence.words.empty() || sentence.words.size() != sentence.rows.size()) std::abort();
    skein::data::write_conll(out, sentence, std::vector<std::string>(sentence.words.size(), "O"));
  }
  again.write(out.str());
  skein::data::ConllConfig second = config;
  second.files = {again.path()};
  second.most_line_bytes += 2;
  const auto read = skein::data::read_conll(second);
  if (read.size() != sentences.size()) std::abort();
  for (size_t i = 0; i < read.size(); ++i)
    if (read[i].words != sentences[i].words) std::abort();
}
