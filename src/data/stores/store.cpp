#include "skein/data/stores/store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string_view>
#include <system_error>
#include <vector>
#include <xxhash.h>

#include "skein/core/error.h"
#include "skein/text/tokenizer.h"

#include "data/files/token_file.h"
#include "store_file.h"

namespace skein {
namespace {

constexpr std::string_view kHdf5Signature("\x89HDF\r\n\x1a\n", 8);
constexpr uint64_t kAnyId = uint64_t{1} << 31;
constexpr int64_t kVerified = int64_t{1} << 16;
constexpr uint64_t kBlocks = 256, kBlockBytes = 4096;  // of a fingerprint

// Returns the largest id, a negative one counting as huge. The bytes may lie at any address.
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

using Widen = uint64_t (*)(const std::byte*, std::span<int32_t>);

Widen widen_of(TokenType type) {
  constexpr std::array<Widen, 7> functions{widen<uint8_t>,  widen<int8_t>,  widen<int16_t>,
                                           widen<uint16_t>, widen<int32_t>, widen<uint32_t>,
                                           widen<int64_t>};
  return functions[static_cast<size_t>(type)];
}

template <class T>
int64_t value_as(const std::byte* source) {
  T token;
  std::memcpy(&token, source, sizeof(T));
  return token;
}

bool is_hdf5(const std::string& path) {
  if (!is_regular_file(path)) return false;  // a pipe would be waited for
  std::array<char, kHdf5Signature.size()> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  if (!file.is_open() || file.bad())
    fail("cannot read {}: {}", path, std::generic_category().message(errno));
  return std::string_view(head.data(), head.size()) == kHdf5Signature;
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

}  // namespace

uint64_t StoreFile::fingerprint() const {
  const uint64_t bytes = info_.tokens * token_bytes(type_);
  if (bytes <= kBlocks * kBlockBytes) return XXH3_64bits(tokens_, bytes);
  uint64_t sum = bytes;
  for (uint64_t block = 0; block < kBlocks; ++block) {
    const uint64_t begin = (bytes - kBlockBytes) / (kBlocks - 1) * block;
    sum = XXH3_64bits_withSeed(tokens_ + (block + 1 < kBlocks ? begin : bytes - kBlockBytes),
                               kBlockBytes, sum);
  }
  return sum;
}

int64_t value_of(TokenType type, const std::byte* token) {
  using Value = int64_t (*)(const std::byte*);
  constexpr std::array<Value, 7> functions{
      value_as<uint8_t>, value_as<int8_t>,   value_as<int16_t>, value_as<uint16_t>,
      value_as<int32_t>, value_as<uint32_t>, value_as<int64_t>};
  return functions[static_cast<size_t>(type)](token);
}

struct TokenStore::Impl {
  Impl(const std::string& name, const TokenNotes& notes)
      : path(name), file(open_any(name, notes)) {}

  const StoreInfo& info() const { return file->info(); }
  std::span<const uint64_t> documents();
  std::span<const uint64_t> sentences();
  int64_t id_at(uint64_t place) const {
    return value_of(file->type(), file->tokens() + place * token_bytes(file->type()));
  }
  [[noreturn]] void refuse_id(int64_t begin, int64_t count) const;
  void verify_ends();

  std::string path;
  std::unique_ptr<StoreFile> file;
  std::once_flag documents_found, sentences_found;
  std::span<const uint64_t> document_starts, sentence_starts;
};

std::span<const uint64_t> TokenStore::Impl::documents() {
  std::call_once(documents_found, [this] { document_starts = file->documents(); });
  return document_starts;
}

std::span<const uint64_t> TokenStore::Impl::sentences() {
  std::call_once(sentences_found, [this] { sentence_starts = file->sentences(); });
  return sentence_starts;
}

void TokenStore::Impl::refuse_id(int64_t begin, int64_t count) const {
  const uint64_t limit = info().vocab_size > 0 ? info().vocab_size : kAnyId;
  int64_t place = begin;
  while (place < begin + count - 1 && static_cast<uint64_t>(id_at(place)) < limit) ++place;
  const int64_t id = id_at(place);
  if (info().format == TokenFormat::native)
    fail_usage(
        "{} is damaged: token {} is {}, outside its vocabulary of {} ids; copy it again or make it "
        "again with `skein-data encode`",
        path, place, id, limit);
  fail_usage(
      "{}: token {} is {}, outside the vocabulary of {} ids; was it made with another tokenizer "
      "than it is read with?",
      path, place, id, limit);
}

// No sum covers the documents; where each has a closing (or opening) token that shows a wrong
// start.
void TokenStore::Impl::verify_ends() {
  const std::span<const uint64_t> starts = documents();
  const int64_t end = info().end_of_text;
  if (end < 0 || info().format != TokenFormat::native) return;
  size_t opened = 0, closed = 0, open = 0;
  for (size_t k = 1; k < starts.size(); ++k) {
    opened += id_at(starts[k - 1]) == end ? 1 : 0;
    const bool closes = id_at(starts[k] - 1) == end;
    closed += closes ? 1 : 0;
    if (!closes && open == 0) open = k;
  }
  if (open == 0 || closed == 0 || opened == starts.size() - 1) return;
  fail_usage("{} is damaged: document {} ends at token {} with id {}, not with end_of_text {}",
             path, open - 1, starts[open], id_at(starts[open] - 1), end);
}

TokenStore::TokenStore(const std::string& path, bool verify)
    : TokenStore(path, TokenNotes(), verify) {}

TokenStore::TokenStore(const std::string& path, const TokenNotes& notes, bool verify)
    : impl_(std::make_unique<Impl>(path, notes)) {
  if (!verify) return;
  verify_sum();
  impl_->verify_ends();
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

const StoreInfo& TokenStore::info() const { return impl_->info(); }
const std::string& TokenStore::path() const { return impl_->path; }
std::span<const uint64_t> TokenStore::documents() const { return impl_->documents(); }
std::span<const uint64_t> TokenStore::sentences() const { return impl_->sentences(); }

void TokenStore::read(int64_t begin, std::span<int32_t> out) const {
  const StoreFile& file = *impl_->file;
  const int64_t count = std::ssize(out);
  SKEIN_CHECK(begin >= 0 && count <= info().tokens && begin <= info().tokens - count);
  const uint64_t largest =
      widen_of(file.type())(file.tokens() + begin * token_bytes(file.type()), out);
  const uint64_t limit = info().vocab_size > 0 ? info().vocab_size : kAnyId;
  if (largest >= limit) impl_->refuse_id(begin, count);
}

uint64_t TokenStore::fingerprint() const { return impl_->file->fingerprint(); }

int64_t TokenStore::bytes() const { return info().tokens * token_bytes(impl_->file->type()); }

void TokenStore::verify_sum(const std::function<bool()>& go_on) const {
  impl_->file->verify_sum(go_on);
}

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

int64_t TokenStore::document_at(int64_t position) const {
  SKEIN_CHECK(position >= 0 && position < info().tokens);
  const auto starts = documents();
  return std::upper_bound(starts.begin(), starts.end(), static_cast<uint64_t>(position)) -
         starts.begin() - 1;
}

}  // namespace skein
