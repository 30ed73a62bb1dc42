// Corpora: the first byte chooses text or JSONL and how documents and pieces are divided; the rest
// is the file, which may be compressed.
#include "skein/data/corpus/corpus.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  static const skein::test::FuzzFile file("x.data");
  file.write(input);
  skein::data::CorpusOptions options;
  options.format = choice & 1 ? skein::data::CorpusFormat::jsonl : skein::data::CorpusFormat::text;
  options.blank_lines = choice >> 1 & 1;
  if (choice & 4 && !options.blank_lines) options.document_separator = "--";
  options.sentences = static_cast<skein::text::SentenceRule>((choice >> 3 & 3) % 3);
  options.max_bad_lines = 100000;
  options.piece_bytes = choice & 32 ? 64 : 4096;
  options.most_line_bytes = 4096;
  skein::data::CorpusReader reader({file.path()}, options);
  for (skein::data::CorpusPiece piece; reader.next(piece);)
    if (piece.text.size() > static_cast<size_t>(options.piece_bytes)) std::abort();
}
