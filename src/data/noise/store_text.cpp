#include "store_text.h"

#include <algorithm>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::data {
namespace {

int32_t token_at(const TokenStore& store, int64_t position) {
  int32_t token = 0;
  store.read(position, std::span(&token, 1));
  return token;
}

std::span<const uint64_t> known_sentences(const TokenStore& store) {
  return store.info().sentences > 0 ? store.sentences() : std::span<const uint64_t>();
}

// Documents begin where the store lists them. Where it would have to look for them, at end-of-text,
// that says as much.
std::span<const uint64_t> listed_documents(const TokenStore& store) {
  return store.info().documents > 0 ? store.documents() : std::span<const uint64_t>();
}

// The first bound that is not before `position`.
const uint64_t* bound_from(std::span<const uint64_t> bounds, int64_t position) {
  return std::lower_bound(bounds.data(), bounds.data() + bounds.size(),
                          static_cast<uint64_t>(position));
}

}  // namespace

std::vector<DocumentText> read_documents(const TokenStore& store, const StoreRange& range) {
  std::vector<int32_t> tokens(range.end - range.begin);
  store.read(range.begin, tokens);
  const auto documents = listed_documents(store), sentences = known_sentences(store);
  const uint64_t *document = bound_from(documents, range.begin),
                 *sentence = bound_from(sentences, range.begin);
  const uint64_t *const last_document = documents.data() + documents.size(), *const last_sentence =
                                                                                 sentences.data() +
                                                                                 sentences.size();
  std::vector<DocumentText> parts(1);
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    const uint64_t position = range.begin + i;
    const bool ends = tokens[i] == store.info().end_of_text;
    const bool begins = document < last_document && *document == position;
    if (begins) ++document;
    if (begins && !ends && !parts.back().tokens.empty()) parts.emplace_back();
    if (sentence < last_sentence && *sentence == position) {
      ++sentence;
      parts.back().sentences.push_back(narrow<int32_t>(parts.back().tokens.size()));
    }
    if (!ends) {
      parts.back().tokens.push_back(tokens[i]);
      continue;
    }
    parts.back().ended = true;
    parts.emplace_back();
  }
  if (parts.size() > 1 && parts.back().tokens.empty()) parts.pop_back();
  return parts;
}

StoreSamples::StoreSamples(const TokenStore& store, const NoiseConfig& config, int64_t least,
                           int64_t most)
    : store_(&store), most_(most), skips_edges_(config.kind == NoiseKind::spans) {
  const int64_t tokens = store.info().tokens;
  if (config.samples == NoiseSamples::documents) {
    edges_ = find_edges();
    cut_documents(least);
    count_ = std::ssize(pieces_);
    require(count_ > 0, "{} holds no document of {} or more tokens, which a sample takes",
            store.path(), least);
    return;
  }
  if (skips_edges_) edges_ = find_edges();
  const int64_t text = skips_edges_ ? text_begin(std::ssize(store.documents()) - 1) : tokens;
  count_ = text / most;
  require(count_ > 0,
          "{} holds {} tokens of text, but one sample takes {}; use more text, a shorter "
          "noise.length or noise.samples=documents",
          store.path(), text, most);
}

// All documents have end-of-text where the first one has it that has text.
StoreSamples::Edges StoreSamples::find_edges() const {
  const int64_t ends = store_->info().end_of_text;
  const auto documents = store_->documents();
  for (size_t i = 0; ends >= 0 && i + 1 < documents.size(); ++i)
    if (documents[i + 1] - documents[i] > 1)
      return {token_at(*store_, documents[i]) == ends ? 1 : 0,
              token_at(*store_, documents[i + 1] - 1) == ends ? 1 : 0};
  return {};
}

void StoreSamples::cut_documents(int64_t least) {
  const auto documents = store_->documents(), sentences = known_sentences(*store_);
  for (size_t i = 0; i + 1 < documents.size(); ++i) {
    int64_t begin = narrow<int64_t>(documents[i]) + edges_.begin;
    int64_t end = narrow<int64_t>(documents[i + 1]);
    // Of a file that was cut off, the last document has none.
    if (i + 2 < documents.size() || token_at(*store_, end - 1) == store_->info().end_of_text)
      end -= edges_.end;
    while (begin < end) {
      int64_t stop = std::min(begin + most_, end);
      const uint64_t* const next = bound_from(sentences, stop + 1);
      if (stop < end && next != sentences.data() && std::cmp_greater(next[-1], begin))
        stop = narrow<int64_t>(next[-1]);
      if (stop - begin >= least) pieces_.push_back({begin, stop});
      begin = stop;
    }
  }
}

// How many tokens of text stand before a document.
int64_t StoreSamples::text_begin(int64_t document) const {
  return narrow<int64_t>(store_->documents()[document]) - document * edges_.both();
}

int64_t StoreSamples::position(int64_t text_token) const {
  int64_t first = 0, end = std::ssize(store_->documents()) - 1;
  while (end - first > 1) {
    const int64_t middle = first + (end - first) / 2;
    (text_begin(middle) <= text_token ? first : end) = middle;
  }
  return text_token + (first + 1) * edges_.begin + first * edges_.end;
}

StoreRange StoreSamples::at(int64_t sample) const {
  if (!pieces_.empty()) return pieces_[sample];
  const int64_t first = sample * most_;
  if (!skips_edges_) return {first, first + most_};
  return {position(first), position(first + most_ - 1) + 1};
}

}  // namespace skein::data
