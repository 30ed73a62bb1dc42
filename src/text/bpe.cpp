#include "skein/core/error.h"
#include "skein/text/byte_alphabet.h"
#include "skein/text/split.h"
#include "skein/text/tokenizer.h"

#include <atomic>
#include <unordered_map>

#include "merge_table.h"

namespace skein {
namespace {

constexpr auto kIdOfByte = id_of_byte();
constexpr size_t kLongestCached = 48;
constexpr size_t kMostCached = size_t{1} << 16;

struct WordHash {
  using is_transparent = void;
  size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
};

// The words one thread met lately, under the tokenizer it used last.
struct WordCache {
  struct Place {
    uint32_t begin, count;
  };

  void own(uint64_t tokenizer) {
    if (owner == tokenizer && places.size() < kMostCached) return;
    owner = tokenizer;
    places.clear();
    ids.clear();
  }

  uint64_t owner = 0;
  std::unordered_map<std::string, Place, WordHash, std::equal_to<>> places;
  std::vector<int32_t> ids;
};

thread_local WordCache cache;

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(std::vector<std::pair<int32_t, int32_t>> merges)
      : table_(std::move(merges)), serial_(next_serial()) {}

  int64_t vocab_size() const override { return int64_t{table_.tokens()} + 1; }
  int32_t end_of_text() const override { return table_.tokens(); }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> out, word_ids;
    out.reserve(text.size() / 3);
    split_gpt2(text, [&](std::string_view word) {
      if (word.size() <= kLongestCached) return append_cached(word, word_ids, out);
      merge_word(word, word_ids);
      out.insert(out.end(), word_ids.begin(), word_ids.end());
    });
    return out;
  }

  std::string_view bytes_of(int32_t id) const override {
    require(id >= 0 && id < vocab_size(), "token id {} is outside the tokenizer's {} ids", id, vocab_size());
    return id == end_of_text() ? std::string_view() : table_.bytes_of(id);
  }

  std::string to_json() const override;

 private:
  // Zero belongs to a cache that no one has used.
  static uint64_t next_serial() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  void merge_word(std::string_view word, std::vector<int32_t>& ids) const {
    ids.clear();
    for (const char byte : word) ids.push_back(kIdOfByte[static_cast<unsigned char>(byte)]);
    table_.merge(ids);
  }

  void append_cached(std::string_view word, std::vector<int32_t>& word_ids, std::vector<int32_t>& out) const {
    cache.own(serial_);
    auto found = cache.places.find(word);
    if (found == cache.places.end()) {
      merge_word(word, word_ids);
      const WordCache::Place place{static_cast<uint32_t>(cache.ids.size()),
                                   static_cast<uint32_t>(word_ids.size())};
      cache.ids.insert(cache.ids.end(), word_ids.begin(), word_ids.end());
      found = cache.places.emplace(std::string(word), place).first;
    }
    const auto begin = cache.ids.begin() + found->second.begin;
    out.insert(out.end(), begin, begin + found->second.count);
  }

  MergeTable table_;
  uint64_t serial_;
};

std::string BpeTokenizer::to_json() const {
  std::string json = R"({"type":"byte_bpe","version":1,"merges":[)";
  for (const auto& [left, right] : table_.merges())
    fmt::format_to(std::back_inserter(json), "[{},{}],", left, right);
  if (json.back() == ',') json.pop_back();
  return json + "]}";
}

}  // namespace

std::unique_ptr<Tokenizer> bpe_tokenizer(std::vector<std::pair<int32_t, int32_t>> merges) {
  return std::make_unique<BpeTokenizer>(std::move(merges));
}

}  // namespace skein
