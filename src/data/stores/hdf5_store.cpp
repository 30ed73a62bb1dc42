// Skein's own stores, read through a memory map.
#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>
#include <xxhash.h>

#include "skein/core/error.h"
#include "skein/data/stores/store_fields.h"

#include "data/files/content_sum.h"
#include "data/files/token_file.h"
#include "store_file.h"
#include "store_layout.h"

namespace skein::data {
namespace {

void check_starts(const std::string& path, const char* name, std::span<const uint64_t> starts,
                  int64_t tokens) {
  require(starts.front() == 0, "{} is damaged: /{} begins with {}, not 0", path, name,
          starts.front());
  const auto bad = std::adjacent_find(starts.begin(), starts.end(), std::greater_equal<>());
  if (bad != starts.end())
    fail_usage("{} is damaged: /{} does not ascend at entry {}: {} is followed by {}", path, name,
               bad - starts.begin(), bad[0], bad[1]);
  require(std::cmp_equal(starts.back(), tokens),
          "{} is damaged: /{} ends with {} but /tokens holds {} tokens", path, name, starts.back(),
          tokens);
}

// What passes the other checks may be damaged all the same.
void check_sum(const std::string& path, const char* name, std::span<const uint64_t> starts,
               std::optional<uint64_t> sum) {
  const uint64_t found = XXH3_64bits(starts.data(), starts.size_bytes());
  if (!sum || *sum == found) return;
  fail(
      "{} is damaged: the XXH3 sum of /{} is {:016x}, it should be {:016x}; copy it again or make "
      "it again with `skein-data encode`",
      path, name, found, *sum);
}

// Both ascend.
void check_nesting(const std::string& path, std::span<const uint64_t> sentences,
                   std::span<const uint64_t> documents) {
  auto at = sentences.begin();
  for (const uint64_t start : documents) {
    at = std::lower_bound(at, sentences.end(), start);
    require(at != sentences.end() && *at == start,
            "{} is damaged: the document that begins at token {} begins inside of a sentence", path,
            start);
  }
}

formats::TokenType type_of_width(int width) {
  return width == 1   ? formats::TokenType::u8
         : width == 2 ? formats::TokenType::u16
                      : formats::TokenType::u32;
}

class Hdf5Store final : public StoreFile {
 public:
  Hdf5Store(const std::string& path, const TokenNotes& notes)
      : path_(path), file_(map_tokens(path)) {
    check_superblock(path_, file_, kTokenStore);
    layout_ = read_store_layout(path_, file_.whole());
    info_ = layout_.info;
    if (info_.tokenizer.empty() && info_.vocab_size == notes.vocab_size)
      info_.tokenizer = notes.tokenizer;
    type_ = type_of_width(layout_.width);
    tokens_ = file_.at(layout_.tokens_at);
    documents_ = starts_at(layout_.documents_at, info_.documents, copied_documents_);
    check_starts(path_, "documents", documents_, info_.tokens);
    check_sum(path_, "documents", documents_, layout_.documents_sum);
  }

  // Of the file that is mapped, by reading rather than through the map, where the error of a disk
  // would end the process (SIGBUS).
  void verify_sum(const std::function<bool()>& go_on) const override {
    const auto file = file_.open_again(path_);
    const auto sum = content_sum(file->get(), path_, layout_.tokens_at, bytes(), go_on);
    if (!sum || *sum == layout_.sum) return;
    fail(
        "{} is damaged: the XXH3 sum of its tokens is {:016x}, it should be {:016x}; copy it again "
        "or make it again with `skein-data encode`",
        path_, *sum, layout_.sum);
  }

  uint64_t fingerprint() const override { return layout_.sum; }

 private:
  std::span<const uint64_t> find_documents() override { return documents_; }

  std::span<const uint64_t> find_sentences() override {
    if (info_.sentences == 0) return {};
    const auto starts = starts_at(layout_.sentences_at, info_.sentences, copied_sentences_);
    check_starts(path_, "sentences", starts, info_.tokens);
    check_nesting(path_, starts, documents_);
    check_sum(path_, "sentences", starts, layout_.sentences_sum);
    return starts;
  }

  std::span<const uint64_t> starts_at(uint64_t offset, int64_t things,
                                      std::vector<uint64_t>& copied) const {
    const size_t count = things + 1;
    const std::byte* bytes = file_.at(offset);
    if (offset % alignof(uint64_t) == 0) return {reinterpret_cast<const uint64_t*>(bytes), count};
    copied.resize(count);
    std::memcpy(copied.data(), bytes, count * sizeof(uint64_t));
    return copied;
  }

  std::string path_;
  MappedFile file_;
  StoreLayout layout_;
  std::span<const uint64_t> documents_;
  // Only of files made elsewhere that do not align them.
  std::vector<uint64_t> copied_documents_, copied_sentences_;
};

}  // namespace

std::unique_ptr<StoreFile> open_hdf5_store(const std::string& path, const TokenNotes& notes) {
  return std::make_unique<Hdf5Store>(path, notes);
}

}  // namespace skein::data
