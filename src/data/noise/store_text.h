// The text of token stores as samples of noise take it.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/data/noise/noise.h"
#include "skein/data/stores/store.h"

namespace skein::data {

// Tokens [begin, end) of a store.
struct StoreRange {
  int64_t begin = 0, end = 0;
};

// What a range has of one document, without end-of-text.
struct DocumentText {
  std::vector<int32_t> tokens;
  std::vector<int32_t> sentences;  // where those begin that the store knows
  bool ended = false;              // end-of-text stands behind it, within the range
};

// The documents of a range in order, at least one.
std::vector<DocumentText> read_documents(const TokenStore& store, const StoreRange& range);

// Where the samples of a store lie.
class StoreSamples {
 public:
  // Samples of at most `most` tokens, at least `least`:
  // - windows of text: the next `most` tokens, end-of-text among them;
  // - windows of spans: the next `most` tokens without those that are end-of-text, of which a range
  //   may have any number beside;
  // - documents: without end-of-text; longer ones in pieces that end with a sentence where the
  //   store knows them and one ends in time.
  // A usage error when there is none.
  StoreSamples(const TokenStore& store, const NoiseConfig& config, int64_t least, int64_t most);
  int64_t count() const { return count_; }
  StoreRange at(int64_t sample) const;

 private:
  // The tokens of a document that are none of its text.
  struct Edges {
    int64_t begin = 0, end = 0;
    int64_t both() const { return begin + end; }
  };

  Edges find_edges() const;
  void cut_documents(int64_t least);
  int64_t text_begin(int64_t document) const;
  int64_t position(int64_t text_token) const;

  const TokenStore* store_;
  int64_t most_, count_ = 0;
  bool skips_edges_;  // windows do
  Edges edges_;
  std::vector<StoreRange> pieces_;  // of documents
};

}  // namespace skein::data
