// Megatron-LM's indexed data sets.
#include <vector>

#include "skein/core/numbers.h"

#include "data/files/token_file.h"
#include "store_file.h"

namespace skein::data {
namespace {

class IndexedStore final : public StoreFile {
 public:
  IndexedStore(const std::string& stem, const TokenNotes& notes)
      : StoreFile(notes),
        idx_(map_tokens(stem + ".idx")),
        bin_(map_tokens(stem + ".bin")),
        index_(idx_.whole(), stem + ".idx") {
    index_.check(bin_.bytes(), stem + ".bin");
    type_ = index_.type();
    tokens_ = bin_.at(0);
    info_.format = TokenFormat::megatron;
    info_.tokens = narrow<int64_t>(bin_.bytes() / token_bytes(type_));
    for (uint64_t k = 1; k < index_.entries(); ++k)
      info_.documents += index_.entry(k) > index_.entry(k - 1) ? 1 : 0;
    const int64_t sequences = index_.sequences();
    info_.sentences = sequences > info_.documents ? sequences : 0;
  }

 private:
  std::span<const uint64_t> find_documents() override {
    documents_.reserve(info_.documents + 1);
    for (uint64_t k = 1; k < index_.entries(); ++k)
      if (index_.entry(k) > index_.entry(k - 1))
        documents_.push_back(start_of(index_.entry(k - 1)));
    documents_.push_back(info_.tokens);
    return documents_;
  }

  std::span<const uint64_t> find_sentences() override {
    if (info_.sentences == 0) return {};
    sentences_.reserve(index_.sequences() + 1);
    for (int64_t k = 0; k < info_.sentences; ++k) sentences_.push_back(start_of(k));
    sentences_.push_back(info_.tokens);
    return sentences_;
  }

  uint64_t start_of(int64_t sequence) const { return index_.offset(sequence) / token_bytes(type_); }

  MappedFile idx_, bin_;
  formats::TokenIndex index_;
  std::vector<uint64_t> documents_, sentences_;
};

}  // namespace

std::unique_ptr<StoreFile> open_indexed_store(const std::string& stem, const TokenNotes& notes) {
  return std::make_unique<IndexedStore>(stem, notes);
}

}  // namespace skein::data
