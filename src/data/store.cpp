#include "skein/data/store.h"

#include "skein/core/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <mutex>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <xxhash.h>

#include "store_layout.h"

namespace skein {
namespace {

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
constexpr size_t kSuperblock = 48;
constexpr size_t kSuperblockVersion = 8;
constexpr size_t kSuperblockEnd = 28;  // where the file's own idea of its size stands

// A whole file, read-only.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* at(uint64_t offset) const { return static_cast<const std::byte*>(data_) + offset; }
  uint64_t bytes() const { return bytes_; }
  std::string_view head(size_t most) const {
    return {static_cast<const char*>(data_), std::min<size_t>(most, bytes_)};
  }

 private:
  void map(const std::string& path, int descriptor);

  void* data_ = MAP_FAILED;
  uint64_t bytes_ = 0;
};

MappedFile::MappedFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    fail_usage("cannot open token store {}: {}; `skein-data encode` makes one from text", path,
               std::generic_category().message(errno));
  try {
    map(path, descriptor);
  } catch (...) {
    close(descriptor);
    throw;
  }
  close(descriptor);
}

void MappedFile::map(const std::string& path, int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0)
    fail("cannot examine {}: {}", path, std::generic_category().message(errno));
  require(S_ISREG(status.st_mode), "{} is {}, not a token store", path,
          S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  bytes_ = static_cast<uint64_t>(status.st_size);
  require(bytes_ > 0, "{} is empty (0 bytes); `skein-data encode` makes token stores from text", path);
  data_ = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, descriptor, 0);
  if (data_ == MAP_FAILED)
    fail("cannot map {} ({} bytes): {}", path, bytes_, std::generic_category().message(errno));
}

bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](unsigned char c) {
    return c >= 0x20 ? c != 0x7f : c == '\n' || c == '\r' || c == '\t' || c == '\f';
  });
}

std::string_view what_it_looks_like(std::string_view head) {
  using namespace std::literals;
  constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"\x1f\x8b"sv, "gzip data: decompress it and encode the text"},
      {"\x28\xb5\x2f\xfd"sv, "zstd data: decompress it and encode the text"},
      {"\xfd"
       "7zXZ\0"sv,
       "xz data: decompress it and encode the text"},
      {"PK\x03\x04"sv, "a zip archive: unpack it and encode the text"},
      {"PAR1"sv, "a Parquet file: write its text column as JSON lines and encode those"},
      {"MMIDIDX\0\0"sv, "a Megatron-LM index"},
      {"\x93NUMPY"sv, "a NumPy array"},
  };
  for (const auto& [signature, kind] : kinds)
    if (head.starts_with(signature)) return kind;
  if (head.size() > 8 && head[8] == '{' && head[7] == '\0' && head[6] == '\0') return "a safetensors file";
  if (is_text(head)) return "text: encode it first";
  return "binary data of no known kind";
}

// The superblock (HDF5 File Format Specification, II.A) is read before HDF5 sees the file: formats older than
// version 2 carry no checksums, and damaged ones can hang or crash the library.
void check_superblock(const std::string& path, const MappedFile& file) {
  const std::string_view head = file.head(64);
  require(head.starts_with(kSignature),
          "{} is not an HDF5 file; it looks like {} (`skein-data encode` makes token "
          "stores)",
          path, what_it_looks_like(head));
  require(head.size() >= kSuperblock, "{} is truncated: it has {} bytes and its header alone takes {}", path,
          file.bytes(), kSuperblock);
  const int version = static_cast<unsigned char>(head[kSuperblockVersion]);
  require(version >= 2,
          "{} has version {} of HDF5's file format, without checksums; write it with at least version 2 "
          "(h5py: libver=\"latest\")",
          path, version);
  uint64_t end = 0;
  std::memcpy(&end, head.data() + kSuperblockEnd, sizeof end);
  require(end <= file.bytes(),
          "{} is truncated: it has {} of {} bytes; copy it again or make it again with "
          "`skein-data encode`",
          path, file.bytes(), end);
}

void check_starts(const std::string& path, const char* name, std::span<const uint64_t> starts,
                  int64_t tokens) {
  require(starts.front() == 0, "{} is damaged: /{} begins with {}, not 0", path, name, starts.front());
  const auto bad = std::adjacent_find(starts.begin(), starts.end(), std::greater_equal<>());
  if (bad != starts.end())
    fail_usage("{} is damaged: /{} does not ascend at entry {}: {} is followed by {}", path, name,
               bad - starts.begin(), bad[0], bad[1]);
  require(starts.back() == static_cast<uint64_t>(tokens),
          "{} is damaged: /{} ends with {} but /tokens holds {} tokens", path, name, starts.back(), tokens);
}

// Both ascend.
void check_nesting(const std::string& path, std::span<const uint64_t> sentences,
                   std::span<const uint64_t> documents) {
  auto at = sentences.begin();
  for (const uint64_t start : documents) {
    at = std::lower_bound(at, sentences.end(), start);
    require(at != sentences.end() && *at == start,
            "{} is damaged: the document that begins at token {} begins inside of a sentence", path, start);
  }
}

// Returns the largest id. The bytes may lie at any address.
template <class T>
uint32_t widen(const std::byte* source, std::span<int32_t> out) {
  uint32_t largest = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    T token;
    std::memcpy(&token, source + i * sizeof(T), sizeof(T));
    out[i] = static_cast<int32_t>(token);
    largest = std::max<uint32_t>(largest, token);
  }
  return largest;
}

}  // namespace

struct TokenStore::Impl {
  explicit Impl(const std::string& name) : path(name), file(name) {
    check_superblock(path, file);
    layout = read_store_layout(path, file.bytes());
    documents = starts_at(layout.documents_at, layout.info.documents, copied_documents);
    check_starts(path, "documents", documents, layout.info.tokens);
    if (layout.info.sentences > 0)
      sentences = starts_at(layout.sentences_at, layout.info.sentences, copied_sentences);
  }

  std::span<const uint64_t> starts_at(uint64_t offset, int64_t things, std::vector<uint64_t>& copied) const;
  void check_sentences();
  void verify_sum() const;
  void verify_ends() const;
  uint32_t widen_any(const std::byte* source, std::span<int32_t> out) const;

  std::string path;
  MappedFile file;
  StoreLayout layout;
  std::span<const uint64_t> documents, sentences;
  // Only of files made elsewhere that do not align them.
  std::vector<uint64_t> copied_documents, copied_sentences;
  std::once_flag sentences_checked;
};

std::span<const uint64_t> TokenStore::Impl::starts_at(uint64_t offset, int64_t things,
                                                      std::vector<uint64_t>& copied) const {
  const size_t count = static_cast<size_t>(things) + 1;
  const std::byte* bytes = file.at(offset);
  if (offset % alignof(uint64_t) == 0) return {reinterpret_cast<const uint64_t*>(bytes), count};
  copied.resize(count);
  std::memcpy(copied.data(), bytes, count * sizeof(uint64_t));
  return copied;
}

void TokenStore::Impl::check_sentences() {
  if (sentences.empty()) return;
  check_starts(path, "sentences", sentences, layout.info.tokens);
  check_nesting(path, sentences, documents);
}

void TokenStore::Impl::verify_sum() const {
  const uint64_t sum =
      XXH3_64bits(file.at(layout.tokens_at), static_cast<size_t>(layout.info.tokens * layout.width));
  require(sum == layout.sum,
          "{} is damaged: the XXH3 sum of its tokens is {:016x}, it should be {:016x}; copy it "
          "again or make it again with `skein-data encode`",
          path, sum, layout.sum);
}

// The sum does not cover /documents; where each document has a closing token that shows a wrong start.
void TokenStore::Impl::verify_ends() const {
  for (size_t k = 1; k < documents.size() && layout.info.end_of_text >= 0; ++k) {
    int32_t last = 0;
    widen_any(file.at(layout.tokens_at + (documents[k] - 1) * static_cast<uint64_t>(layout.width)),
              {&last, 1});
    require(last == layout.info.end_of_text,
            "{} is damaged: document {} ends at token {} with id {}, not with end_of_text {}", path, k - 1,
            documents[k], last, layout.info.end_of_text);
  }
}

uint32_t TokenStore::Impl::widen_any(const std::byte* source, std::span<int32_t> out) const {
  if (layout.width == 1) return widen<uint8_t>(source, out);
  if (layout.width == 2) return widen<uint16_t>(source, out);
  return widen<uint32_t>(source, out);
}

TokenStore::TokenStore(const std::string& path, bool verify) : impl_(std::make_unique<Impl>(path)) {
  if (!verify) return;
  impl_->verify_sum();
  impl_->verify_ends();
  sentences();
}

TokenStore::~TokenStore() = default;
TokenStore::TokenStore(TokenStore&&) noexcept = default;

const StoreInfo& TokenStore::info() const { return impl_->layout.info; }
const std::string& TokenStore::path() const { return impl_->path; }
std::span<const uint64_t> TokenStore::documents() const { return impl_->documents; }

std::span<const uint64_t> TokenStore::sentences() const {
  std::call_once(impl_->sentences_checked, [this] { impl_->check_sentences(); });
  return impl_->sentences;
}

void TokenStore::read(int64_t begin, std::span<int32_t> out) const {
  const StoreLayout& layout = impl_->layout;
  const int64_t count = static_cast<int64_t>(out.size());
  SKEIN_CHECK(begin >= 0 && count <= layout.info.tokens && begin <= layout.info.tokens - count);
  const std::byte* source = impl_->file.at(layout.tokens_at + static_cast<uint64_t>(begin * layout.width));
  if (impl_->widen_any(source, out) < layout.info.vocab_size) return;
  const auto bad = std::find_if(out.begin(), out.end(), [&](int32_t id) {
    return static_cast<uint32_t>(id) >= layout.info.vocab_size;
  });
  fail_usage(
      "{} is damaged: token {} is {}, outside its vocabulary of {} ids; copy it again or make it again with "
      "`skein-data encode`",
      impl_->path, begin + (bad - out.begin()), static_cast<uint32_t>(*bad), layout.info.vocab_size);
}

int64_t TokenStore::document_at(int64_t position) const {
  SKEIN_CHECK(position >= 0 && position < impl_->layout.info.tokens);
  const auto& starts = impl_->documents;
  return std::upper_bound(starts.begin(), starts.end(), static_cast<uint64_t>(position)) - starts.begin() - 1;
}

}  // namespace skein
