// How far the reading of a corpus has come.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace skein::data {

struct CorpusProgress {
  int64_t bytes_read = 0;    // of the inputs, before decompression
  int64_t bytes_total = -1;  // -1 when unknown
  int64_t documents = 0;
  int64_t tokens = 0;  // 0 where none are made
  double seconds = 0;
  const char* things = "documents";  // what they are to the user
  int64_t documents_total = -1;      // -1 when unknown; told where no bytes are
};

using ProgressCall = std::function<void(const CorpusProgress&)>;

// "412.0 MB of 1.6 GB (25%), 83.1 MB/s, 10411 documents, 101.2M tokens, 14 s left", without what is
// unknown.
std::string progress_line(const CorpusProgress& progress);

// 1536 as "1.5 kB": decimal units.
std::string readable_bytes(int64_t bytes);

}  // namespace skein::data
