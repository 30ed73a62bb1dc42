// skein-data on tokenizers: learning one, and writing it as other libraries read it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/core/options/options.h"
#include "skein/core/options/program.h"
#include "skein/data/corpus/learn_tokenizer.h"
#include "skein/data/files/progress.h"

#include "data_options.h"
#include "progress_line.h"

namespace skein {

inline void add_trainer(Options& options, text::TrainerSettings& trainer) {
  options.add_choice("tokenizer.kind", trainer.kind,
                     {{"bpe", text::LearntKind::bpe},
                      {"wordpiece", text::LearntKind::wordpiece},
                      {"unigram", text::LearntKind::unigram},
                      {"word", text::LearntKind::word}},
                     "byte-level BPE, BERT's WordPiece, SentencePiece's unigram, or whole words");
  options.add_choice("tokenizer.normal_form", trainer.normal_form,
                     {{"none", text::LearntForm::none}, {"nfkc", text::LearntForm::nfkc}},
                     "unigram: text as it is, or in Unicode's form NFKC with single spaces");
  options.add("tokenizer.byte_fallback", trainer.byte_fallback,
              "unigram: characters without a piece become their bytes, else unknown");
  options.add("tokenizer.pattern", trainer.pattern,
              "word: a regular expression whose matches are words; without it white space divides");
  options.add(
      "tokenizer.special", trainer.special,
      "special tokens divided by commas, such as <s>,<pad>,</s>,<unk>,<mask>: the first ids");
  options.add("tokenizer.lowercase", trainer.lowercase,
              "wordpiece: lower-case text without accents");
  options.add("tokenizer.limit_alphabet", trainer.limit_alphabet,
              "wordpiece, unigram: rarer characters are left out", "characters");
  options.add("data.vocab_size", trainer.vocab_size,
              "ids, with those of bytes or characters and special tokens", "ids");
  options.add("data.min_frequency", trainer.min_frequency,
              "pairs and whole words that occur less often are left out", "times");
}

inline void run_export_tokenizer(const std::vector<std::string>& arguments) {
  std::string output;
  bool replace = false;
  Options options(
      "skein-data export-tokenizer",
      "Writes TOKENIZER (a file, a folder or `bytes`) as the files of Hugging Face's libraries.");
  options.add("output.path", output, "the folder to write them into");
  add_replace(options, replace);
  if (!parsed(options, arguments)) return;
  const std::string named = only_word(options, "tokenizers", "export-tokenizer tok.json");
  require(!output.empty(), "output.path is missing; give a folder, as in `--output.path=exported`");
  const auto tokenizer = text::load_tokenizer(named);
  for (const std::string& path : data::export_tokenizer(*tokenizer, output, existing(replace)))
    log::info("{}", path);
}

inline void run_train_tokenizer(const std::vector<std::string>& arguments) {
  data::LearnConfig config;
  RunOptions run;
  std::string output = "tokenizer.json";
  bool replace = false;
  Options options("skein-data train-tokenizer", "Learns a tokenizer from the INPUTs.");
  add_corpus(options, config.corpus);
  add_trainer(options, config.trainer);
  options.add("output.path", output, "the tokenizer file to write");
  add_replace(options, replace);
  add_run(options, run);
  if (!parsed(options, arguments)) return;
  config.threads = run.threads;
  data::check_output("output.path", output, data::expand_inputs(options.words()), existing(replace),
                     true);
  ProgressLine line(run.quiet);
  const data::LearntTokenizer learnt =
      learn_tokenizer(options.words(), config, [&](const data::CorpusProgress& progress) {
        line.show([&] { return progress_line(progress); });
      });
  data::save_tokenizer(*learnt.tokenizer, output, existing(replace));
  if (learnt.tokenizer->vocab_size() < config.trainer.vocab_size)
    log::warn("{} ids instead of {}: no other {} occurs {} times (data.min_frequency)",
              learnt.tokenizer->vocab_size(), config.trainer.vocab_size,
              config.trainer.kind == text::LearntKind::word ? "word" : "pair",
              config.trainer.kind == text::LearntKind::unigram ? 2 : config.trainer.min_frequency);
  if (run.quiet) return;
  if (config.trainer.kind == text::LearntKind::word)
    log::info("{:.2f}% of the words are unknown ({} of {})",
              100 * ratio(learnt.unknown_words, std::max<int64_t>(1, learnt.words)),
              learnt.unknown_words, learnt.words);
  log::info(
      "{}: {} ids from {} documents, {} of text, {} words, {} of them distinct, {} bad lines, "
      "{:.1f} s",
      output, learnt.tokenizer->vocab_size(), learnt.documents, data::readable_bytes(learnt.bytes),
      learnt.words, learnt.distinct_words, learnt.bad_lines, learnt.seconds);
}

}  // namespace skein
