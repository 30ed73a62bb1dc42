#include "skein/data/learn_tokenizer.h"

#include "skein/core/error.h"
#include "skein/data/encode.h"
#include "skein/text/train_bpe.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <span>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "batches.h"
#include "new_file.h"
#include "ordered_workers.h"

namespace skein {
namespace {

struct Counted {
  int64_t documents = 0;
  int64_t bytes = 0;
};

Counted count_batch(BpeTrainer& trainer, const PieceBatch& batch) {
  Counted counted;
  for (const CorpusPiece& piece : batch) {
    trainer.count(piece.text);
    counted.bytes += static_cast<int64_t>(piece.text.size());
    counted.documents += piece.continues ? 0 : 1;
  }
  return counted;
}

// The words of the whole corpus; what was counted goes into `learnt`.
BpeTrainer count_corpus(CorpusReader& reader, int threads, const ProgressReport& report,
                        LearntTokenizer& learnt) {
  std::vector<BpeTrainer> trainers(static_cast<size_t>(threads));
  {
    OrderedWorkers<PieceBatch, Counted> workers(threads, [&](int worker, const PieceBatch& batch) {
      return count_batch(trainers[static_cast<size_t>(worker)], batch);
    });
    workers.drive([&](PieceBatch& batch) { return read_batch(reader, batch); },
                  [&](const Counted& counted) {
                    learnt.documents += counted.documents;
                    learnt.bytes += counted.bytes;
                    report.tell(learnt.documents, 0);
                  });
  }
  BpeTrainer all;
  for (BpeTrainer& trainer : trainers) all.merge(std::move(trainer));
  return all;
}

}  // namespace

LearntTokenizer learn_tokenizer(const std::vector<std::string>& inputs, const LearnConfig& config,
                                const ProgressCall& progress) {
  // An empty trainer checks the settings before hours of reading.
  BpeTrainer().train(config.vocab_size, config.min_frequency);
  CorpusReader reader(inputs, config.corpus);
  const ProgressReport report(reader, progress);
  LearntTokenizer learnt;
  const BpeTrainer trainer = count_corpus(reader, worker_threads(config.threads), report, learnt);
  require(learnt.documents > 0, "the inputs hold no text ({} files, {} bad lines)", reader.files().size(),
          reader.bad_lines());
  learnt.tokenizer = bpe_tokenizer(trainer.train(config.vocab_size, config.min_frequency));
  learnt.words = trainer.words();
  learnt.distinct_words = trainer.distinct_words();
  learnt.bad_lines = reader.bad_lines();
  learnt.seconds = report.seconds();
  return learnt;
}

void save_tokenizer(const Tokenizer& tokenizer, const std::string& path) {
  const std::string json = tokenizer.to_json() + "\n";
  const std::string partial = fmt::format("{}.partial-{}", path, getpid());
  Descriptor file(partial, O_WRONLY | O_CREAT | O_EXCL);
  const RemovedAtEnd removed(partial);
  file.write_at(std::as_bytes(std::span(json)), 0);
  file.sync();
  if (std::rename(partial.c_str(), path.c_str()) != 0)
    fail("cannot rename {} to {}: {}", partial, path, std::generic_category().message(errno));
  sync_directory_of(path);
}

}  // namespace skein
