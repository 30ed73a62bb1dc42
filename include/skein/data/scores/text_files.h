// Texts to be scored, out of files: a hypothesis or a list of references a sample.
//
// .csv, .tsv and .jsonl files, also compressed, hold them under a column's or a key's name; other
// files hold a text a line, empty lines among them.
#pragma once

#include <string>
#include <vector>

#include "skein/data/records/examples.h"

namespace skein::data {

struct TextColumn {
  std::string name;    // a column or key; of tables also a number from 1
  const char* option;  // which the user names it by, for messages
  Header header = Header::automatic;
};

// Whether a file has columns or keys, and so may hold several texts of a sample.
bool has_columns(const std::string& path);

// A text for each sample, in order. A usage error as ExampleReader, and for a file without any.
std::vector<std::string> read_texts(const std::string& path, const TextColumn& column);
// The same, but a value of JSONL may be a list of texts, at least one.
std::vector<std::vector<std::string>> read_text_lists(const std::string& path,
                                                      const TextColumn& column);

}  // namespace skein::data
