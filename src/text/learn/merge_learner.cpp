#include "merge_learner.h"

#include "skein/core/error.h"
#include "skein/core/numbers.h"

#include "text/models/vocabulary.h"

namespace skein::text {

void MergeLearner::add_word(std::span<const int32_t> symbols, int64_t count) {
  if (symbols.size() < 2) return;
  require(symbols.size() <= UINT32_MAX, "a word of {} bytes is too long to learn from",
          symbols.size());
  words_.push_back({symbols_.size(), narrow<uint32_t>(symbols.size()), count});
  symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
}

std::vector<std::pair<int32_t, int32_t>> MergeLearner::learn(
    int64_t min_frequency, const std::function<bool()>& room,
    const std::function<int32_t(int32_t, int32_t)>& make) {
  count_pairs();
  std::vector<std::pair<int32_t, int32_t>> learnt;
  while (room()) {
    const int32_t best = take_best(min_frequency);
    if (best < 0) break;
    const Pair& pair = pairs_[best];
    learnt.emplace_back(pair.left, pair.right);
    const int32_t made = make(pair.left, pair.right);
    if (std::ssize(lengths_) <= made) lengths_.resize(made + 1);
    lengths_[made] = length(pair.left) + length(pair.right);
    apply(best, made);
  }
  return learnt;
}

void MergeLearner::count_pairs() {
  require(words_.size() <= UINT32_MAX, "{} distinct words are too many to learn from",
          words_.size());
  for (uint32_t index = 0; index < words_.size(); ++index) {
    const Word& word = words_[index];
    const int32_t* ids = symbols_.data() + word.begin;
    for (uint32_t i = 0; i + 1 < word.length; ++i) change(ids[i], ids[i + 1], word.count, index);
  }
  offer_from(0);
}

// A word that a pair appears in is noted while it is being worked on, so the last one noted is the
// only one that could be noted twice.
void MergeLearner::change(int32_t left, int32_t right, int64_t by, uint32_t word) {
  const auto [index, fresh] = known_.insert(pair_key(left, right), narrow<int32_t>(pairs_.size()));
  if (fresh) pairs_.push_back({left, right});
  Pair& pair = pairs_[index];
  pair.count += by;
  if (by > 0 && (pair.words.empty() || pair.words.back() != word)) pair.words.push_back(word);
}

void MergeLearner::offer_from(size_t first) {
  for (size_t index = first; index < pairs_.size(); ++index) {
    const Pair& pair = pairs_[index];
    if (pair.count <= 0 || length(pair.left) + length(pair.right) > kLongestToken) continue;
    heap_.push({pair.count, pair.left, pair.right, narrow<int32_t>(index)});
  }
}

int32_t MergeLearner::take_best(int64_t min_frequency) {
  while (!heap_.empty()) {
    Candidate best = heap_.top();
    heap_.pop();
    const int64_t count = pairs_[best.pair].count;
    if (count < min_frequency) continue;
    if (count == best.count) return best.pair;
    best.count = count;
    heap_.push(best);
  }
  return -1;
}

void MergeLearner::apply(int32_t index, int32_t made) {
  const size_t first_new = pairs_.size();
  const int32_t left = pairs_[index].left, right = pairs_[index].right;
  const std::vector<uint32_t> words = std::move(pairs_[index].words);
  for (const uint32_t word : words) rewrite(word, left, right, made);
  pairs_[index].count = 0;
  offer_from(first_new);
}

void MergeLearner::rewrite(uint32_t index, int32_t left, int32_t right, int32_t made) {
  Word& word = words_[index];
  int32_t* ids = symbols_.data() + word.begin;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < word.length;) {
    if (i + 1 == word.length || ids[i] != left || ids[i + 1] != right) {
      ids[kept++] = ids[i++];
      continue;
    }
    if (kept > 0) {
      change(ids[kept - 1], left, -word.count, index);
      change(ids[kept - 1], made, word.count, index);
    }
    i += 2;
    if (i < word.length) {
      change(right, ids[i], -word.count, index);
      change(made, ids[i], word.count, index);
    }
    ids[kept++] = made;
  }
  word.length = kept;
}

}  // namespace skein::text
