// Options that several commands of skein-data share.
#pragma once

#include <string>

#include "skein/core/error.h"
#include "skein/core/options/options.h"
#include "skein/data/corpus/encode.h"

namespace skein {

struct RunOptions {
  int threads = 0;
  bool quiet = false;
};

inline void add_corpus(Options& options, data::CorpusOptions& corpus) {
  options.add_choice("data.format", corpus.format,
                     {{"auto", data::CorpusFormat::automatic},
                      {"text", data::CorpusFormat::text},
                      {"jsonl", data::CorpusFormat::jsonl}},
                     "how the inputs are read; auto goes by the suffix");
  options.add("data.field", corpus.field, "JSONL: the key that holds the text");
  options.add("data.document_separator", corpus.document_separator,
              "text: a line of just this divides documents; without it a file is one document");
  options.add("data.blank_lines", corpus.blank_lines,
              "text: so many blank lines divide documents; 0 for never", "lines");
  options.add("data.max_bad_lines", corpus.max_bad_lines,
              "JSONL: bad lines to skip before giving up", "lines");
}

inline void add_replace(Options& options, bool& replace) {
  options.add("output.replace", replace, "replace files that are there already");
}

inline void add_run(Options& options, RunOptions& run) {
  options.add("run.threads", run.threads,
              "threads that work beside the reading one; 0 for all processors", "threads");
  options.add("run.quiet", run.quiet, "no progress and no summary");
}

inline std::string only_word(const Options& options, const char* called, const char* example) {
  require(options.words().size() == 1, "{} {} were named; name one, as in `skein-data {}`",
          options.words().size(), called, example);
  return options.words().front();
}

}  // namespace skein
