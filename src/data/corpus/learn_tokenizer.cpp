#include "skein/data/corpus/learn_tokenizer.h"

#include <filesystem>
#include <span>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/files/new_file.h"
#include "skein/core/files/result_file.h"
#include "skein/data/corpus/encode.h"
#include "skein/text/export.h"

#include "batches.h"
#include "data/files/ordered_workers.h"

namespace skein::data {
namespace {

namespace fs = std::filesystem;

struct CorpusCounts {
  int64_t documents = 0;
  int64_t bytes = 0;
};

CorpusCounts count_batch(text::TokenizerTrainer& trainer, const PieceBatch& batch) {
  CorpusCounts counted;
  for (const CorpusPiece& piece : batch) {
    trainer.count(piece.text);
    counted.bytes += std::ssize(piece.text);
    counted.documents += piece.continues ? 0 : 1;
  }
  return counted;
}

// The words of the whole corpus; what was counted goes into `learnt`.
text::TokenizerTrainer count_corpus(CorpusReader& reader, const text::TrainerSettings& settings,
                                    int threads, const ProgressReport& report,
                                    LearntTokenizer& learnt) {
  std::vector<text::TokenizerTrainer> trainers(threads, text::TokenizerTrainer(settings));
  {
    OrderedWorkers<PieceBatch, CorpusCounts> workers(
        threads,
        [&](int worker, const PieceBatch& batch) { return count_batch(trainers[worker], batch); });
    workers.drive([&](PieceBatch& batch) { return read_batch(reader, batch); },
                  [&](const CorpusCounts& counted) {
                    learnt.documents += counted.documents;
                    learnt.bytes += counted.bytes;
                    report.tell(learnt.documents, 0);
                  });
  }
  text::TokenizerTrainer all(settings);
  for (text::TokenizerTrainer& trainer : trainers) all.merge(std::move(trainer));
  return all;
}

void save_text(const std::string& text, const std::string& given, ExistingFile existing) {
  if (const OutputTarget target = output_target(given); target.occupant == Occupant::stream)
    return write_stream(target, text);
  NewFile file(given, existing);
  file.append(std::as_bytes(std::span(text)));
  file.finish();
}

}  // namespace

LearntTokenizer learn_tokenizer(const std::vector<std::string>& inputs, const LearnConfig& config,
                                const ProgressCall& progress) {
  // An empty trainer checks the settings before hours of reading.
  const text::TokenizerTrainer checked(config.trainer);
  CorpusReader reader(inputs, config.corpus);
  const ProgressReport report(reader, progress);
  LearntTokenizer learnt;
  const text::TokenizerTrainer trainer =
      count_corpus(reader, config.trainer, worker_threads(config.threads), report, learnt);
  require(learnt.documents > 0, "the inputs hold no text ({} files, {} bad lines)",
          reader.files().size(), reader.bad_lines());
  learnt.tokenizer = trainer.train(worker_threads(config.threads));
  if (config.trainer.kind == text::LearntKind::word)
    learnt.unknown_words = trainer.unknown_words(*learnt.tokenizer);
  learnt.words = trainer.words();
  learnt.distinct_words = trainer.distinct_words();
  learnt.bad_lines = reader.bad_lines();
  learnt.seconds = report.seconds();
  return learnt;
}

void save_tokenizer(const text::Tokenizer& tokenizer, const std::string& path,
                    ExistingFile existing) {
  save_text(tokenizer.to_json() + "\n", path, existing);
}

std::vector<std::string> export_tokenizer(const text::Tokenizer& tokenizer,
                                          const std::string& folder, ExistingFile existing) {
  const auto files = tokenizer_files(tokenizer);
  make_result_folder("output.path", folder);
  std::vector<std::string> paths;
  for (const auto& [name, text] : files) {
    paths.push_back((fs::path(folder) / name).string());
    check_output("output.path", paths.back(), {}, existing);
  }
  for (size_t i = 0; i < files.size(); ++i) save_text(files[i].second, paths[i], existing);
  return paths;
}

}  // namespace skein::data
