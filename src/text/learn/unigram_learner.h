// The pieces of a unigram model and their scores, learnt from words (Kudo 2018): many pieces to
// begin with, then in turns expectation maximisation and leaving out those whose loss costs the
// likelihood least. Numbers follow SentencePiece's trainer, in doubles.
//
// Words are dealt to a fixed number of shards, each of which sums on its own, and the shards are
// added in order: the same bits at any number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "skein/text/learn/substrings.h"

#include "text/models/best_path.h"

namespace skein::text {

struct ScoredPiece {
  std::string text;
  double score = 0;
};

class UnigramLearner {
 public:
  // `words` are not empty, and each of some 100 characters at most; `required` are characters that
  // are pieces in any case, the most frequent first.
  UnigramLearner(std::vector<CountedWord> words, std::vector<CountedWord> required, int threads)
      : words_(std::move(words)), required_(std::move(required)), threads_(threads) {}

  // At most `size` pieces, by falling score; `required` are no more than that.
  std::vector<ScoredPiece> learn(int64_t size, std::string_view mark);

 private:
  void seed(std::string_view mark);
  void set_pieces(std::vector<ScoredPiece> pieces);
  std::vector<double> expected_counts() const;
  std::vector<double> path_counts() const;
  void maximise(const std::vector<double>& counts);
  void prune(size_t wanted);
  std::vector<ScoredPiece> finished(size_t size) const;

  std::vector<CountedWord> words_, required_;
  int threads_;
  std::vector<ScoredPiece> pieces_;
  ScoredPieces scored_;
};

}  // namespace skein::text
