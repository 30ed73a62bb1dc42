#include "skein/core/error.h"
#include "skein/text/models/byte_alphabet.h"
#include "skein/text/split/split.h"
#include "skein/text/tokenizer.h"

#include "text/models/merge_table.h"
#include "word_cache.h"

namespace skein::text {
namespace {

constexpr auto kIdOfByte = id_of_byte();

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(std::vector<std::pair<int32_t, int32_t>> merges)
      : table_(std::move(merges)), serial_(WordCache::next_serial()) {}

  int64_t vocab_size() const override { return int64_t{table_.tokens()} + 1; }
  int32_t end_of_text() const override { return table_.tokens(); }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> out, long_word;
    out.reserve(text.size() / 3);
    WordCache& cache = WordCache::of(serial_);
    const auto merged = [this](std::string_view word, std::vector<int32_t>& ids) {
      merge_word(word, ids);
    };
    split_gpt2(text, [&](std::string_view word) {
      if (word.size() <= WordCache::kLongest) return cache.append(word, out, merged);
      merge_word(word, long_word);
      out.insert(out.end(), long_word.begin(), long_word.end());
    });
    return out;
  }

  std::string_view bytes_of(int32_t id) const override {
    require(id >= 0 && id < vocab_size(), "token id {} is outside the tokenizer's {} ids", id,
            vocab_size());
    return id == end_of_text() ? std::string_view() : table_.bytes_of(id);
  }

  std::string to_json() const override;

 private:
  void merge_word(std::string_view word, std::vector<int32_t>& ids) const {
    ids.clear();
    for (const unsigned char byte : word) ids.push_back(kIdOfByte[byte]);
    table_.merge(ids);
  }

  MergeTable table_;
  uint64_t serial_;
};

std::string BpeTokenizer::to_json() const {
  std::string json = R"({"type":"byte_bpe","version":1,"merges":[)";
  for (const auto& [left, right] : table_.merges()) json += fmt::format("[{},{}],", left, right);
  if (json.back() == ',') json.pop_back();
  return json + "]}";
}

}  // namespace

std::unique_ptr<Tokenizer> bpe_tokenizer(std::vector<std::pair<int32_t, int32_t>> merges) {
  return std::make_unique<BpeTokenizer>(std::move(merges));
}

}  // namespace skein::text
