#include "skein/data/stores/store.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>
#include <xxhash.h>

#include "skein/core/error.h"
#include "skein/data/stores/store_fields.h"

#include "data/files/token_file.h"
#include "store_file.h"

namespace skein::data {
namespace {

constexpr uint64_t kAnyId = uint64_t{1} << 31;
constexpr int64_t kVerified = int64_t{1} << 16;
constexpr uint64_t kBlocks = 256, kBlockBytes = 4096;  // of a fingerprint

template <class T>
uint64_t widen(const std::byte* source, std::span<int32_t> out) {
  T largest = 0, least = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    T token;
    std::memcpy(&token, source + i * sizeof(T), sizeof(T));
    out[i] = static_cast<int32_t>(token);
    largest = std::max(largest, token);
    least = std::min(least, token);
  }
  return least < 0 ? least : largest;
}

template <class T>
int64_t value_as(const std::byte* source) {
  T token;
  std::memcpy(&token, source, sizeof(T));
  return token;
}

struct TypeReader {
  uint64_t (*widen)(const std::byte* source, std::span<int32_t> out);
  int64_t (*value)(const std::byte* source);
};

template <class T>
constexpr TypeReader kReaderOf{widen<T>, value_as<T>};

const TypeReader& reader_of(formats::TokenType type) {
  static constexpr TypeReader readers[] = {
      kReaderOf<uint8_t>, kReaderOf<int8_t>,   kReaderOf<int16_t>, kReaderOf<uint16_t>,
      kReaderOf<int32_t>, kReaderOf<uint32_t>, kReaderOf<int64_t>};
  return readers[static_cast<size_t>(type)];
}

// What the two files of a Megatron-LM data set share, or "".
std::string indexed_stem(const std::string& path) {
  if (path.ends_with(".idx")) return stem_of(path);
  if (path.ends_with(".bin")) return is_regular_file(stem_of(path) + ".idx") ? stem_of(path) : "";
  return !is_regular_file(path) && is_regular_file(path + ".idx") ? path : "";
}

std::unique_ptr<StoreFile> open_any(const std::string& path, const TokenNotes& notes) {
  const std::string stem = is_hdf5(path) ? "" : indexed_stem(path);
  if (!stem.empty()) return open_indexed_store(stem, notes_beside(stem, notes));
  if (path.ends_with(".bin") && is_regular_file(path) && !is_hdf5(path))
    return open_bare_store(path, notes_beside(stem_of(path), notes));
  auto native = open_hdf5_store(path, notes);
  require(notes.tokenizer.empty() || same_tokenizer(native->info().tokenizer, notes.tokenizer),
          "{} was made by another tokenizer ({} ids) than that of data.tokenizer ({} ids)", path,
          native->info().vocab_size, notes.vocab_size);
  return native;
}

[[noreturn]] void refuse_id(const std::string& path, const StoreFile& file, int64_t begin,
                            int64_t count, uint64_t limit) {
  int64_t position = begin;
  while (position < begin + count - 1 && static_cast<uint64_t>(file.id_at(position)) < limit)
    ++position;
  const int64_t id = file.id_at(position);
  if (file.info().format == TokenFormat::native)
    fail_usage(
        "{} is damaged: token {} is {}, outside its vocabulary of {} ids; copy it again or make it "
        "again with `skein-data encode`",
        path, position, id, limit);
  fail_usage(
      "{}: token {} is {}, outside the vocabulary of {} ids; was it made with another tokenizer "
      "than it is read with?",
      path, position, id, limit);
}

// No sum covers the documents; where each has a closing (or opening) token that shows a wrong
// start.
void verify_ends(const std::string& path, StoreFile& file) {
  const std::span<const uint64_t> starts = file.documents();
  const int64_t end = file.info().end_of_text;
  if (end < 0 || file.info().format != TokenFormat::native) return;
  size_t opened = 0, closed = 0, open = 0;
  for (size_t k = 1; k < starts.size(); ++k) {
    opened += file.id_at(starts[k - 1]) == end ? 1 : 0;
    const bool closes = file.id_at(starts[k] - 1) == end;
    closed += closes ? 1 : 0;
    if (!closes && open == 0) open = k;
  }
  if (open == 0 || closed == 0 || opened == starts.size() - 1) return;
  fail_usage("{} is damaged: document {} ends at token {} with id {}, not with end_of_text {}",
             path, open - 1, starts[open], file.id_at(starts[open] - 1), end);
}

}  // namespace

uint64_t widened_tokens(formats::TokenType type, const std::byte* source, std::span<int32_t> out) {
  return reader_of(type).widen(source, out);
}

StoreFile::StoreFile(const TokenNotes& notes) {
  info_.vocab_size = notes.vocab_size;
  info_.end_of_text = notes.end_of_text;
  info_.text_bytes = notes.text_bytes;
  info_.tokenizer = notes.tokenizer;
}

int64_t StoreFile::id_at(uint64_t position) const {
  return reader_of(type_).value(tokens_ + position * token_bytes(type_));
}

uint64_t StoreFile::read(int64_t begin, std::span<int32_t> out) const {
  return widened_tokens(type_, tokens_ + begin * token_bytes(type_), out);
}

std::span<const uint64_t> StoreFile::documents() {
  std::call_once(documents_found_, [this] { document_starts_ = find_documents(); });
  return document_starts_;
}

std::span<const uint64_t> StoreFile::sentences() {
  std::call_once(sentences_found_, [this] { sentence_starts_ = find_sentences(); });
  return sentence_starts_;
}

uint64_t StoreFile::fingerprint() const {
  if (bytes() <= kBlocks * kBlockBytes) return XXH3_64bits(tokens_, bytes());
  const uint64_t last = bytes() - kBlockBytes;
  uint64_t sum = bytes();
  for (uint64_t block = 0; block < kBlocks; ++block) {
    const uint64_t begin = block + 1 < kBlocks ? last / (kBlocks - 1) * block : last;
    sum = XXH3_64bits_withSeed(tokens_ + begin, kBlockBytes, sum);
  }
  return sum;
}

TokenStore::TokenStore(const std::string& path, bool verify)
    : TokenStore(path, TokenNotes(), verify) {}

TokenStore::TokenStore(const std::string& path, const TokenNotes& notes, bool verify)
    : path_(path), file_(open_any(path, notes)) {
  if (!verify) return;
  verify_sum();
  verify_ends(path_, *file_);
  sentences();
  std::vector<int32_t> ids;
  for (int64_t begin = 0; info().format != TokenFormat::native && begin < info().tokens;
       begin += kVerified) {
    ids.resize(std::min(kVerified, info().tokens - begin));
    read(begin, ids);
  }
}

TokenStore::~TokenStore() = default;
TokenStore::TokenStore(TokenStore&&) noexcept = default;

const StoreInfo& TokenStore::info() const { return file_->info(); }
std::span<const uint64_t> TokenStore::documents() const { return file_->documents(); }
std::span<const uint64_t> TokenStore::sentences() const { return file_->sentences(); }

void TokenStore::read(int64_t begin, std::span<int32_t> out) const {
  const int64_t count = std::ssize(out);
  SKEIN_CHECK(begin >= 0 && count <= info().tokens && begin <= info().tokens - count);
  const uint64_t limit = info().vocab_size > 0 ? info().vocab_size : kAnyId;
  if (file_->read(begin, out) >= limit) refuse_id(path_, *file_, begin, count, limit);
}

uint64_t TokenStore::fingerprint() const { return file_->fingerprint(); }
int64_t TokenStore::bytes() const { return file_->bytes(); }
void TokenStore::verify_sum(const std::function<bool()>& go_on) const { file_->verify_sum(go_on); }

void TokenStore::require_vocabulary() const {
  if (info().vocab_size > 0) return;
  const std::filesystem::path file = path();
  std::error_code ignored;
  const bool pickled = std::filesystem::exists(file.parent_path() / "meta.pkl", ignored);
  fail_usage(
      "{} does not say what vocabulary its tokens are of: give data.tokenizer (a tokenizer file, "
      "or `bytes`) or model.vocab_size, or write {} with {{\"tokenizer\": \"FILE\"}} or "
      "{{\"vocab_size\": 50257, \"end_of_text\": 50256}}{}",
      path(), notes_path(stem_of(path())),
      pickled ? "; the meta.pkl beside it is a Python pickle, which is never read" : "");
}

void TokenStore::require_sentences(const std::string& user, const std::string& otherwise) const {
  require(info().sentences > 0,
          "{} does not know where sentences begin, which {} needs; encode it again with "
          "--data.sentences=auto, or give {}",
          path(), user, otherwise);
}

int64_t TokenStore::document_at(int64_t position) const {
  SKEIN_CHECK(position >= 0 && position < info().tokens);
  const auto starts = documents();
  return std::upper_bound(starts.begin(), starts.end(), static_cast<uint64_t>(position)) -
         starts.begin() - 1;
}

}  // namespace skein::data
