// skein-data on pairs of texts: stores of them, and pairs to copy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/options/options.h"
#include "skein/core/options/program.h"
#include "skein/data/corpus/copy_shift.h"
#include "skein/data/corpus/encode_pairs.h"
#include "skein/data/corpus/retrieval.h"
#include "skein/text/tokenizer.h"

#include "data_options.h"
#include "progress_line.h"

namespace skein {

inline data::PairTokenizers load_pair_tokenizers(const std::string& path,
                                                 const std::string& target) {
  require(!path.empty(),
          "tokenizer.path is missing; give a tokenizer file or `--tokenizer.path=bytes`, and "
          "tokenizer.target where the targets have another");
  const std::shared_ptr<const text::Tokenizer> source = text::load_tokenizer(path);
  if (target.empty()) return {source, source};
  return {source, text::load_tokenizer(target)};
}

inline void run_pairs(const std::vector<std::string>& arguments) {
  data::PairStoreConfig config;
  std::string source, target;
  bool quiet = false;
  Options options("skein-data pairs",
                  "Encodes pairs of texts, a source and a target each, into a store of pairs. The "
                  "INPUTs are CSV, TSV or JSONL; or lines of sources, with data.targets.");
  options.add("tokenizer.path", source,
              "tokenizer file or folder, or `bytes` for one token a byte");
  options.add("tokenizer.target", target, "that of the targets, where it is another one");
  bind(options, config.pairs);
  options.add("data.targets", config.pairs.targets,
              "files of lines, the targets of the lines of each INPUT, divided by commas");
  options.add("output.path", config.output, "the store to write");
  options.add("output.replace", config.replace, "replace a file that is there already");
  options.add("run.threads", config.threads,
              "threads that work beside the reading one; 0 for all processors", "threads");
  options.add("run.quiet", quiet, "no progress and no summary");
  if (!parsed(options, arguments)) return;
  config.pairs.files = options.words();
  const data::PairTokenizers tokenizers = load_pair_tokenizers(source, target);
  ProgressLine line(quiet);
  const data::PairCounts made =
      write_pair_store(config, tokenizers, [&](const data::CorpusProgress& progress) {
        line.show([&] { return progress_line(progress); });
      });
  if (!quiet)
    log::info("{}: {} pairs, {} tokens of sources, {} of targets, {} left out, {:.1f} s",
              config.output, made.pairs, made.source_tokens, made.target_tokens, made.left_out,
              made.seconds);
}

inline void run_copy_shift(const std::vector<std::string>& arguments) {
  data::CopyShiftConfig config;
  Options options(
      "skein-data copy-shift",
      "Writes pairs to copy, as a TSV: some words of the INPUTs, and the same shifted by "
      "one word.");
  bind(options, config);
  add_corpus(options, config.corpus);
  if (!parsed(options, arguments)) return;
  const data::CopyShiftCounts made = write_copy_shift(options.words(), config);
  log::info("{}: {} pairs of {} words, of a text of {}", config.output, made.pairs, config.words,
            made.words);
}

inline void run_retrieval(const std::vector<std::string>& arguments) {
  data::RetrievalConfig config;
  Options options("skein-data retrieval",
                  "Writes texts that ask for a value far away in them, as a TSV with labels.");
  bind(options, config);
  if (!parsed(options, arguments)) return;
  if (!options.words().empty())
    fail_usage("\"{}\" was given; `skein-data retrieval` reads nothing", options.words().front());
  write_retrieval(config);
  log::info(
      "{}: {} texts that ask for one of {} values over {} words; without it one in {} is right",
      config.output, config.texts, config.values, config.distance, config.values);
}

}  // namespace skein
