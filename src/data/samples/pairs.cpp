#include "skein/data/samples/pairs.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::data {
namespace {

constexpr int64_t kLongestSentence = 512;

// The sentences of a store without the token that ends a document.
class Sentences {
 public:
  explicit Sentences(const TokenStore& store) : store_(store), starts_(store.sentences()) {
    store.require_sentences("mlm.pairs", "mlm.pairs=none");
  }

  int64_t begin(int64_t sentence) const { return starts_[sentence]; }
  int64_t length(int64_t sentence) const { return begin(sentence + 1) - begin(sentence); }

  // The sentences of one document.
  std::pair<int64_t, int64_t> of_document(int64_t document) const {
    const auto starts = store_.documents();
    const auto number = [&](uint64_t token) {
      return std::lower_bound(starts_.begin(), starts_.end(), token) - starts_.begin();
    };
    return {number(starts[document]), number(starts[document + 1])};
  }

  std::vector<int32_t> tokens(int64_t first, int64_t end) const {
    std::vector<int32_t> ids(begin(end) - begin(first));
    store_.read(begin(first), ids);
    while (!ids.empty() && ids.back() == store_.info().end_of_text) ids.pop_back();
    return ids;
  }

 private:
  const TokenStore& store_;
  std::span<const uint64_t> starts_;
};

// Cuts one document. draw_target: how many tokens the next run is to have.
void cut_runs(const Sentences& sentences, int64_t first, int64_t end,
              const std::function<int64_t()>& draw_target, std::vector<SentenceRun>& into) {
  if (end - first < 2) return;
  for (int64_t sentence = first; sentence < end; ++sentence)
    if (sentences.length(sentence) > kLongestSentence) return;
  int64_t begin = first, tokens = 0, target = draw_target();
  for (int64_t sentence = first; sentence < end; ++sentence) {
    tokens += sentences.length(sentence);
    const int64_t held = sentence + 1 - begin, left = end - sentence - 1;
    const bool full = tokens >= target && left > 1 && held >= 2;
    if (!full && left > 0) continue;
    if (held >= 2) into.push_back({begin, sentence + 1, narrow<int32_t>(target)});
    begin = sentence + 1;
    tokens = 0;
    target = draw_target();
  }
}

// Takes tokens from the longer part, from either end at random.
void shorten(std::vector<int32_t>& first, std::vector<int32_t>& second, int64_t most,
             Draws& draws) {
  int64_t begins[2] = {0, 0}, ends[2] = {std::ssize(first), std::ssize(second)};
  while (ends[0] - begins[0] + ends[1] - begins[1] > most) {
    const int longer = ends[0] - begins[0] > ends[1] - begins[1] ? 0 : 1;
    if (draws.uniform() < 0.5)
      ++begins[longer];
    else
      --ends[longer];
  }
  first.assign(first.begin() + begins[0], first.begin() + ends[0]);
  second.assign(second.begin() + begins[1], second.begin() + ends[1]);
}

// Whether a document holds more than the token that ends it.
bool holds_text(const TokenStore& store, int64_t document) {
  const auto starts = store.documents();
  const uint64_t tokens = starts[document + 1] - starts[document];
  return tokens > (store.info().end_of_text >= 0 ? 1U : 0U);
}

// A document with text, other than `own`; check_pairs says that there is one.
int64_t drawn_document(const TokenStore& store, int64_t own, Draws& draws) {
  while (true) {
    const int64_t drawn = draws.below(store.info().documents - 1),
                  other = drawn + (drawn >= own ? 1 : 0);
    if (holds_text(store, other)) return other;
  }
}

// Sentences of any other document, about `wanted` tokens of them.
std::vector<int32_t> from_elsewhere(const TokenStore& store, const Sentences& sentences,
                                    int64_t not_in, int64_t wanted, Draws& draws) {
  const int64_t own = store.document_at(sentences.begin(not_in));
  const auto [begins, ends] = sentences.of_document(drawn_document(store, own, draws));
  const int64_t first = begins + draws.below(ends - begins);
  int64_t end = first + 1;
  while (end < ends && sentences.begin(end) - sentences.begin(first) < wanted) ++end;
  return sentences.tokens(first, end);
}

}  // namespace

void check_pairs(const TokenStore& store, PairTask task) {
  if (task != PairTask::next) return;
  int64_t found = 0;
  for (int64_t document = 0; document < store.info().documents && found < 2; ++document)
    found += holds_text(store, document) ? 1 : 0;
  require(found > 1,
          "{} holds one document, but mlm.pairs=next draws second parts from others; use text of "
          "several documents (JSONL, or plain text encoded with --data.blank_lines or "
          "--data.document_separator), or train with mlm.pairs=order or none",
          store.path());
}

std::vector<SentenceRun> sentence_runs(const TokenStore& store, int64_t most, double short_samples,
                                       uint64_t seed) {
  SKEIN_CHECK(most >= 2);
  const Sentences sentences(store);
  Draws draws(derive_key(seed, "sentence runs"), 0);
  const auto draw_target = [&] {
    return draws.uniform() < short_samples ? 2 + draws.below(most - 1) : most;
  };
  std::vector<SentenceRun> runs;
  for (int64_t document = 0; document < store.info().documents; ++document) {
    const auto [first, end] = sentences.of_document(document);
    cut_runs(sentences, first, end, draw_target, runs);
  }
  require(!runs.empty(),
          "{} holds no document of two or more sentences of at most {} tokens, of which mlm.pairs "
          "makes its samples; encode longer documents, or give mlm.pairs=none",
          store.path(), kLongestSentence);
  return runs;
}

PairSample make_pair_sample(const TokenStore& store, const SentenceRun& run, PairTask task,
                            Draws draws) {
  const Sentences sentences(store);
  const int64_t cut = run.first + 1 + draws.below(run.end - run.first - 1);
  PairSample made;
  made.first = sentences.tokens(run.first, cut);
  made.apart = draws.uniform() < 0.5;
  if (made.apart && task == PairTask::next)
    made.second =
        from_elsewhere(store, sentences, run.first, run.most - std::ssize(made.first), draws);
  else
    made.second = sentences.tokens(cut, run.end);
  if (made.apart && task == PairTask::order) std::swap(made.first, made.second);
  shorten(made.first, made.second, run.most, draws);
  return made;
}

}  // namespace skein::data
