// The division of a text into pieces whose scores have the largest sum (Viterbi), as unigram models
// use it (Kudo 2018). Ties go to the piece that begins first. A character that is no piece by
// itself may be taken for `unknown`.
//
// Sums are Scores: SentencePiece has floats and `tokenizers` doubles, and both break near ties by
// what is left after rounding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "piece_trie.h"
#include "text/split/unicode.h"

namespace skein::text {

// By how much an unknown character is worse than the worst piece, as SentencePiece has it.
constexpr double kUnknownPenalty = 10;

struct ScoredPieces {
  PieceTrie trie;
  std::vector<double> scores;  // by id
  double unknown = 0;
};

// A piece of the best path: where it ends and its id, -1 for an unknown character.
struct PathPiece {
  size_t end;
  int32_t id;
};

// The sum of its scores. `divided`: the whole text is no piece.
template <class Score>
Score best_path(const ScoredPieces& pieces, std::string_view text, std::vector<PathPiece>& path,
                bool divided = false) {
  struct Node {
    Score score = 0;
    int32_t id = -1;
    size_t begin = SIZE_MAX;
  };
  thread_local std::vector<Node> nodes;
  nodes.assign(text.size() + 1, Node());
  const auto offer = [&](size_t begin, size_t end, int32_t id, double sum) {
    Node& node = nodes[end];
    const auto score = static_cast<Score>(sum);
    if (node.begin == SIZE_MAX || score > node.score) node = {score, id, begin};
  };
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = character_at(text, at).bytes;
    const double before = nodes[at].score;
    bool known = false;
    pieces.trie.prefixes(text.substr(at), [&](size_t length, int32_t id) {
      if (divided && length == text.size()) return;
      offer(at, at + length, id, pieces.scores[id] + before);
      known = known || length == bytes;
    });
    if (!known) offer(at, at + bytes, -1, pieces.unknown + before);
    at += bytes;
  }
  path.clear();
  for (size_t end = text.size(); end > 0; end = nodes[end].begin)
    path.push_back({end, nodes[end].id});
  std::reverse(path.begin(), path.end());
  const Score sum = nodes.back().score;
  constexpr size_t kKept = size_t{1} << 16;
  if (nodes.capacity() > kKept) std::vector<Node>().swap(nodes);
  return sum;
}

}  // namespace skein::text
