// nanoGPT's and llm.c's files: tokens, and for llm.c a header that counts them.
#include <algorithm>
#include <vector>

#include "skein/core/error.h"

#include "data/files/token_file.h"
#include "store_file.h"

namespace skein::data {
namespace {

class BareStore final : public StoreFile {
 public:
  BareStore(const std::string& path, const TokenNotes& notes)
      : StoreFile(notes), file_(map_tokens(path)), end_of_text_at_(notes.end_of_text_at) {
    const auto head =
        file_.whole().first(std::min<uint64_t>(file_.bytes(), formats::kShardHeaderBytes));
    if (formats::is_shard(head)) {
      const formats::TokenShardHeader header =
          formats::parse_shard_header(head, file_.bytes(), path);
      info_.format = TokenFormat::llmc;
      info_.tokens = header.tokens;
      type_ = header.type;
      tokens_ = file_.at(formats::kShardHeaderBytes);
      return;
    }
    // Tokens may happen to be printable characters, so a file whose vocabulary is told is taken at
    // its word.
    require(notes.vocab_size > 0 || !looks_like_something(file_.head(64)),
            "{} holds no tokens; it looks like {}", path, what_it_looks_like(file_.head(64)));
    info_.format = TokenFormat::nanogpt;
    info_.tokens = parse_bare_tokens(file_.bytes(), type_, path);
    tokens_ = file_.at(0);
  }

 private:
  std::span<const uint64_t> find_documents() override {
    documents_.push_back(0);
    const int64_t after = info_.end_of_text >= 0 && !opens_documents() ? 1 : 0;
    for (int64_t position = 0; info_.end_of_text >= 0 && position < info_.tokens; ++position)
      if (is_end(position) && position + after > 0 && position + after < info_.tokens)
        documents_.push_back(position + after);
    documents_.push_back(info_.tokens);
    return documents_;
  }

  bool is_end(int64_t position) const { return id_at(position) == info_.end_of_text; }

  bool opens_documents() const {
    if (!end_of_text_at_.empty()) return end_of_text_at_ == "begin";
    return is_end(0) || (info_.format == TokenFormat::llmc && !is_end(info_.tokens - 1));
  }

  MappedFile file_;
  std::string end_of_text_at_;  // as of TokenNotes
  std::vector<uint64_t> documents_;
};

}  // namespace

std::unique_ptr<StoreFile> open_bare_store(const std::string& path, const TokenNotes& notes) {
  return std::make_unique<BareStore>(path, notes);
}

}  // namespace skein::data
