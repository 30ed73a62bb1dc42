#include "skein/text/train_bpe.h"

#include "skein/core/error.h"
#include "skein/text/byte_alphabet.h"
#include "skein/text/split.h"

#include <algorithm>
#include <queue>

#include "pair_map.h"

namespace skein {
namespace {

constexpr int64_t kLargestVocabulary = int64_t{1} << 24;

struct Word {
  uint64_t begin;
  uint32_t length;
  int64_t count;
};

struct Pair {
  int32_t left, right;
  int64_t count = 0;
  std::vector<uint32_t> words{};  // that held it when it was made; each once, some hold it no more
};

// Counts of existing pairs only fall, so a heap entry never promises too little: one that promises too much
// is put back with the count of now.
struct Candidate {
  int64_t count;
  int32_t left, right;
  int32_t pair;

  bool operator<(const Candidate& other) const {
    if (count != other.count) return count < other.count;
    return std::pair(left, right) > std::pair(other.left, other.right);
  }
};

class MergeLearner {
 public:
  void add_word(std::string_view bytes, int64_t count) {
    static constexpr auto ids = id_of_byte();
    if (bytes.size() < 2) return;
    require(bytes.size() <= UINT32_MAX, "a word of {} bytes is too long to learn from", bytes.size());
    words_.push_back({symbols_.size(), static_cast<uint32_t>(bytes.size()), count});
    for (const char byte : bytes) symbols_.push_back(ids[static_cast<unsigned char>(byte)]);
  }

  std::vector<std::pair<int32_t, int32_t>> learn(int64_t merges, int64_t min_frequency) {
    lengths_.assign(256, 1);
    count_pairs();
    std::vector<std::pair<int32_t, int32_t>> learnt;
    while (static_cast<int64_t>(learnt.size()) < merges) {
      const int32_t best = take_best(min_frequency);
      if (best < 0) break;
      const Pair& pair = pairs_[static_cast<size_t>(best)];
      learnt.emplace_back(pair.left, pair.right);
      lengths_.push_back(length(pair.left) + length(pair.right));
      apply(best, 255 + static_cast<int32_t>(learnt.size()));
    }
    return learnt;
  }

 private:
  uint64_t length(int32_t id) const { return lengths_[static_cast<size_t>(id)]; }

  void count_pairs() {
    require(words_.size() <= UINT32_MAX, "{} distinct words are too many to learn from", words_.size());
    for (uint32_t index = 0; index < words_.size(); ++index) {
      const Word& word = words_[index];
      const int32_t* ids = symbols_.data() + word.begin;
      for (uint32_t i = 0; i + 1 < word.length; ++i) change(ids[i], ids[i + 1], word.count, index);
    }
    offer_from(0);
  }

  // A word that a pair appears in is noted while it is being worked on, so the last one noted is the only
  // one that could be noted twice.
  void change(int32_t left, int32_t right, int64_t by, uint32_t word) {
    const auto [index, fresh] = known_.insert(pair_key(left, right), static_cast<int32_t>(pairs_.size()));
    if (fresh) pairs_.push_back({left, right});
    Pair& pair = pairs_[static_cast<size_t>(index)];
    pair.count += by;
    if (by > 0 && (pair.words.empty() || pair.words.back() != word)) pair.words.push_back(word);
  }

  void offer_from(size_t first) {
    for (size_t index = first; index < pairs_.size(); ++index) {
      const Pair& pair = pairs_[index];
      if (pair.count <= 0 || length(pair.left) + length(pair.right) > kLongestToken) continue;
      heap_.push({pair.count, pair.left, pair.right, static_cast<int32_t>(index)});
    }
  }

  int32_t take_best(int64_t min_frequency) {
    while (!heap_.empty()) {
      Candidate best = heap_.top();
      heap_.pop();
      const int64_t count = pairs_[static_cast<size_t>(best.pair)].count;
      if (count < min_frequency) continue;
      if (count == best.count) return best.pair;
      best.count = count;
      heap_.push(best);
    }
    return -1;
  }

  void apply(int32_t index, int32_t made) {
    const size_t first_new = pairs_.size();
    const int32_t left = pairs_[static_cast<size_t>(index)].left,
                  right = pairs_[static_cast<size_t>(index)].right;
    const std::vector<uint32_t> words = std::move(pairs_[static_cast<size_t>(index)].words);
    for (const uint32_t word : words) rewrite(word, left, right, made);
    pairs_[static_cast<size_t>(index)].count = 0;
    offer_from(first_new);
  }

  void rewrite(uint32_t index, int32_t left, int32_t right, int32_t made) {
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

  std::vector<int32_t> symbols_;
  std::vector<Word> words_;
  std::vector<Pair> pairs_;
  std::vector<uint64_t> lengths_;
  PairMap known_;
  std::priority_queue<Candidate> heap_;
};

}  // namespace

void BpeTrainer::count(std::string_view text) {
  split_gpt2(text, [this](std::string_view word) {
    ++words_;
    if (const auto found = counts_.find(word); found != counts_.end())
      ++found->second;
    else
      counts_.emplace(std::string(word), 1);
  });
}

void BpeTrainer::merge(BpeTrainer&& other) {
  words_ += other.words_;
  if (counts_.empty()) counts_.swap(other.counts_);
  for (auto& [word, count] : other.counts_) counts_[word] += count;
  other = BpeTrainer();
}

std::vector<std::pair<int32_t, int32_t>> BpeTrainer::train(int64_t vocab_size, int64_t min_frequency) const {
  require(vocab_size >= 257 && vocab_size <= kLargestVocabulary,
          "a vocabulary of {} ids cannot be learnt: 256 bytes and end-of-text take 257, and {} is the most",
          vocab_size, kLargestVocabulary);
  require(min_frequency >= 1, "a least frequency of {} makes no sense; use 1 or more", min_frequency);
  MergeLearner learner;
  for (const auto& [word, count] : counts_) learner.add_word(word, count);
  return learner.learn(vocab_size - 257, min_frequency);
}

}  // namespace skein
