#include "unigram_learner.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::text {
namespace {

constexpr size_t kShards = 16;
constexpr size_t kMostSeeds = 1'000'000;
constexpr size_t kLongestPiece = 16;
constexpr int kRoundsOfExpectation = 2;
constexpr double kLeastExpected = 0.5;
constexpr double kShrinking = 0.75;

// Calls work(shard) for each shard, each once.
template <class Work>
void for_shards(int threads, Work&& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t shard = next++; shard < kShards; shard = next++) work(shard);
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < std::min<int>(threads, kShards); ++i) others.emplace_back(run);
  run();
}

// The sums that add(word, sums) makes over all words, of `size` numbers.
template <class Add>
std::vector<double> summed(const std::vector<CountedWord>& words, size_t size, int threads,
                           Add&& add) {
  std::array<std::vector<double>, kShards> parts;
  for_shards(threads, [&](size_t shard) {
    parts[shard].assign(size, 0);
    const size_t begin = words.size() * shard / kShards, end = words.size() * (shard + 1) / kShards;
    for (size_t i = begin; i < end; ++i) add(words[i], parts[shard]);
  });
  for (size_t shard = 1; shard < kShards; ++shard)
    for (size_t i = 0; i < size; ++i) parts[0][i] += parts[shard][i];
  return std::move(parts[0]);
}

// Of positive numbers (the asymptotic series above 7).
double digamma(double x) {
  double result = 0;
  for (; x < 7; ++x) result -= 1 / x;
  x -= 0.5;
  const double inverse = 1 / x, square = inverse * inverse;
  return result + std::log(x) +
         square *
             (1.0 / 24 - square * (7.0 / 960 - square * (31.0 / 8064 - square * 127.0 / 30720)));
}

// A word's pieces wherever they fit, and how often each is expected. Probabilities are long
// doubles, which no word of some 100 characters brings to 0.
class Lattice {
 public:
  void add_expected(const CountedWord& word, const ScoredPieces& pieces,
                    const std::vector<long double>& chances, std::vector<double>& expected) {
    fill(word.text, pieces, chances);
    const size_t size = word.text.size();
    backward_.assign(size + 1, 0);
    backward_[size] = 1;
    for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge)
      backward_[edge->begin] += edge->chance * backward_[edge->end];
    const long double scale = static_cast<long double>(word.count) / forward_[size];
    for (const Edge& edge : edges_)
      if (edge.id >= 0)
        expected[edge.id] +=
            static_cast<double>(forward_[edge.begin] * edge.chance * backward_[edge.end] * scale);
  }

 private:
  struct Edge {
    size_t begin, end;
    int32_t id;
    long double chance;
  };

  void fill(std::string_view text, const ScoredPieces& pieces,
            const std::vector<long double>& chances) {
    edges_.clear();
    forward_.assign(text.size() + 1, 0);
    forward_[0] = 1;
    for (size_t at = 0; at < text.size();) {
      const size_t bytes = character_at(text, at).bytes;
      bool known = false;
      const auto add = [&](size_t length, int32_t id, long double chance) {
        edges_.push_back({at, at + length, id, chance});
        forward_[at + length] += forward_[at] * chance;
        known = known || length == bytes;
      };
      pieces.trie.prefixes(text.substr(at),
                           [&](size_t length, int32_t id) { add(length, id, chances[id]); });
      if (!known) add(bytes, -1, std::exp(static_cast<long double>(pieces.unknown)));
      at += bytes;
    }
  }

  std::vector<Edge> edges_;
  std::vector<long double> forward_, backward_;
};

}  // namespace

void UnigramLearner::set_pieces(std::vector<ScoredPiece> pieces) {
  pieces_ = std::move(pieces);
  std::vector<PieceTrie::Entry> entries;
  scored_.scores.clear();
  double least = std::numeric_limits<double>::infinity();
  for (size_t id = 0; id < pieces_.size(); ++id) {
    entries.emplace_back(pieces_[id].text, narrow<int32_t>(id));
    scored_.scores.push_back(pieces_[id].score);
    least = std::min(least, pieces_[id].score);
  }
  scored_.trie = PieceTrie(std::move(entries));
  scored_.unknown = least - kUnknownPenalty;
}

// Scores are the logarithms of shares of what all pieces cover.
void UnigramLearner::seed(std::string_view mark) {
  std::vector<ScoredPiece> pieces;
  double sum = 0;
  const auto add = [&](std::string_view text, double weight) {
    pieces.push_back({std::string(text), weight});
    sum += weight;
  };
  for (const CountedWord& character : required_)
    add(character.text, static_cast<double>(character.count));
  for (const Substring& found : frequent_substrings(words_, mark, kLongestPiece, kMostSeeds))
    add(found.text,
        static_cast<double>(found.count) * static_cast<double>(characters_in(found.text).size()));
  for (ScoredPiece& piece : pieces) piece.score = std::log(piece.score) - std::log(sum);
  set_pieces(std::move(pieces));
}

std::vector<double> UnigramLearner::expected_counts() const {
  std::vector<long double> chances;
  for (const double score : scored_.scores)
    chances.push_back(std::exp(static_cast<long double>(score)));
  return summed(words_, pieces_.size(), threads_,
                [&](const CountedWord& word, std::vector<double>& expected) {
                  thread_local Lattice lattice;
                  lattice.add_expected(word, scored_, chances, expected);
                });
}

std::vector<double> UnigramLearner::path_counts() const {
  return summed(words_, pieces_.size(), threads_,
                [&](const CountedWord& word, std::vector<double>& counts) {
                  thread_local std::vector<PathPiece> path;
                  best_path<double>(scored_, word.text, path);
                  for (const PathPiece& piece : path)
                    if (piece.id >= 0) counts[piece.id] += static_cast<double>(word.count);
                });
}

// The variational form (Liang and Klein 2007), which favours few pieces.
void UnigramLearner::maximise(const std::vector<double>& counts) {
  std::vector<ScoredPiece> kept;
  double sum = 0;
  for (size_t id = 0; id < counts.size(); ++id) {
    if (counts[id] < kLeastExpected) continue;
    kept.push_back({pieces_[id].text, counts[id]});
    sum += counts[id];
  }
  if (kept.empty()) return;
  for (ScoredPiece& piece : kept) piece.score = digamma(piece.score) - digamma(sum);
  set_pieces(std::move(kept));
}

// A piece that goes leaves its places to the best division of itself.
void UnigramLearner::prune(size_t wanted) {
  const std::vector<double> counts = path_counts();
  double sum = 0;
  for (const double count : counts) sum += count;
  std::vector<std::pair<double, size_t>> losses;
  std::vector<size_t> kept;
  std::vector<PathPiece> path;
  for (size_t id = 0; id < pieces_.size(); ++id) {
    if (counts[id] == 0) continue;
    const double divided = best_path<double>(scored_, pieces_[id].text, path, true);
    const bool whole = path.size() < 2 || std::any_of(path.begin(), path.end(),
                                                      [](const auto& part) { return part.id < 0; });
    if (whole) {
      kept.push_back(id);
      continue;
    }
    if (divided > pieces_[id].score) continue;
    const double added = counts[id] * static_cast<double>(path.size() - 1);
    double loss = std::log(counts[id]) - std::log(sum);
    for (const PathPiece& part : path)
      loss -= std::log(counts[part.id] + counts[id]) - std::log(sum + added);
    losses.emplace_back(-counts[id] * loss, id);
  }
  std::sort(losses.begin(), losses.end());
  const size_t size =
      std::max(wanted, static_cast<size_t>(kShrinking * static_cast<double>(pieces_.size())));
  for (size_t i = 0; i < losses.size() && kept.size() < size; ++i) kept.push_back(losses[i].second);
  std::sort(kept.begin(), kept.end());
  std::vector<ScoredPiece> pieces;
  for (const size_t id : kept) pieces.push_back(std::move(pieces_[id]));
  set_pieces(std::move(pieces));
}

// Characters that were left out come last, the rarer the later.
std::vector<ScoredPiece> UnigramLearner::finished(size_t size) const {
  constexpr double kStep = 0.0001;
  std::vector<ScoredPiece> sorted = pieces_;
  const auto first = [](const ScoredPiece& left, const ScoredPiece& right) {
    return left.score > right.score || (left.score == right.score && left.text < right.text);
  };
  std::sort(sorted.begin(), sorted.end(), first);
  std::unordered_map<std::string_view, double> scores;
  for (const ScoredPiece& piece : sorted) scores.emplace(piece.text, piece.score);
  std::vector<ScoredPiece> made;
  std::unordered_set<std::string_view> there;
  double missing = scored_.unknown + kUnknownPenalty;
  for (const CountedWord& character : required_) {
    const auto found = scores.find(character.text);
    made.push_back({character.text, found == scores.end() ? missing : found->second});
    if (found == scores.end()) missing -= kStep;
    there.insert(character.text);
  }
  for (size_t i = 0; i < sorted.size() && made.size() < size; ++i)
    if (!there.contains(sorted[i].text)) made.push_back(sorted[i]);
  std::sort(made.begin(), made.end(), first);
  return made;
}

std::vector<ScoredPiece> UnigramLearner::learn(int64_t size, std::string_view mark) {
  SKEIN_CHECK(size >= std::ssize(required_));
  const size_t wanted = static_cast<size_t>(1.1 * static_cast<double>(size));
  seed(mark);
  while (true) {
    for (int round = 0; round < kRoundsOfExpectation; ++round) maximise(expected_counts());
    if (pieces_.size() <= wanted) break;
    const size_t before = pieces_.size();
    prune(wanted);
    if (pieces_.size() == before) break;
  }
  return finished(static_cast<size_t>(size));
}

}  // namespace skein::text
