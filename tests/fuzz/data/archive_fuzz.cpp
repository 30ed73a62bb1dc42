// Archives and their compressions: the input is one, of text files and JSONL.
#include "skein/data/corpus/corpus.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  // A few bytes may unpack to as many as there is time for.
  constexpr size_t kMostText = size_t{16} << 20;
  static const skein::test::FuzzFile file("x.pack");
  file.write(input);
  skein::data::CorpusOptions options;
  options.max_bad_lines = 100000;
  options.piece_bytes = 4096;
  options.most_line_bytes = 4096;
  skein::data::CorpusReader reader({file.path()}, options);
  size_t bytes = 0;
  for (skein::data::CorpusPiece piece; bytes < kMostText && reader.next(piece);
       bytes += piece.text.size())
    if (piece.text.size() > static_cast<size_t>(options.piece_bytes)) std::abort();
}
