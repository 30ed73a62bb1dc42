#include "unpacker.h"

#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <cstdio>
#include <locale.h>
#include <utility>

#include "skein/core/error.h"

namespace skein::data {
namespace {

constexpr size_t kArchiveBuffer = size_t{1} << 18;
constexpr int64_t kTarBlock = 512;

class MemberSource final : public ByteSource {
 public:
  explicit MemberSource(std::shared_ptr<Unpacker> unpacker) : unpacker_(std::move(unpacker)) {}
  size_t read(char* bytes, size_t room) override { return unpacker_->read(bytes, room); }
  int64_t consumed() const override { return unpacker_->consumed(); }
  bool plain() const override { return false; }

 private:
  std::shared_ptr<Unpacker> unpacker_;
};

// Names in archives are UTF-8, and libarchive hands them on in the letters of the locale, which is
// C in our programs.
class Utf8Names {
 public:
  Utf8Names() : letters_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (letters_ != nullptr) before_ = uselocale(letters_);
  }
  ~Utf8Names() {
    if (letters_ == nullptr) return;
    uselocale(before_);
    freelocale(letters_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t letters_, before_ = nullptr;
};

void support(archive* a, Unpacker::Form form) {
  if (form == Unpacker::Form::archive) {
    archive_read_support_format_tar(a);
    archive_read_support_format_zip(a);
    return;
  }
  archive_read_support_filter_xz(a);
  archive_read_support_filter_zstd(a);
  archive_read_support_filter_bzip2(a);
  archive_read_support_filter_lz4(a);
  archive_read_support_format_raw(a);
  archive_read_support_format_empty(a);
}

Unpacker::Kind kind_of(archive_entry* entry) {
  if (archive_entry_filetype(entry) == AE_IFDIR) return Unpacker::Kind::folder;
  const bool file =
      archive_entry_filetype(entry) == AE_IFREG && archive_entry_hardlink(entry) == nullptr;
  return file ? Unpacker::Kind::file : Unpacker::Kind::other;
}

std::string name_of(archive_entry* entry) {
  if (const char* name = archive_entry_pathname_utf8(entry)) return name;
  const char* name = archive_entry_pathname(entry);
  return name != nullptr ? name : "(a name that cannot be read)";
}

}  // namespace

// C code calls these, which no exception may pass through.
struct Unpacker::Callbacks {
  static la_ssize_t read(archive* a, void* self, const void** block) {
    auto& unpacker = *static_cast<Unpacker*>(self);
    try {
      const size_t got = unpacker.raw_->read(unpacker.buffer_.data(), unpacker.buffer_.size());
      unpacker.ended_ = got == 0;
      unpacker.handed_ += got;
      *block = unpacker.buffer_.data();
      return got;
    } catch (...) {
      unpacker.thrown_ = std::current_exception();
      archive_set_error(a, EIO, "it cannot be read");
      return ARCHIVE_FATAL;
    }
  }

  static la_int64_t seek(archive* a, void* self, la_int64_t offset, int whence) {
    auto& unpacker = *static_cast<Unpacker*>(self);
    unpacker.ended_ = false;
    const int64_t at = unpacker.raw_->seek(offset, whence);
    if (at >= 0) return at;
    archive_set_error(a, EIO, "byte %lld cannot be reached", static_cast<long long>(offset));
    return ARCHIVE_FATAL;
  }
};

Unpacker::Unpacker(std::unique_ptr<ByteSource> raw, std::string name, std::string kind, Form form)
    : raw_(std::move(raw)),
      name_(std::move(name)),
      kind_(std::move(kind)),
      form_(form),
      buffer_(kArchiveBuffer),
      archive_(archive_read_new()) {
  if (archive_ == nullptr) fail("out of memory to unpack {}", name_);
  support(archive_, form_);
  archive_read_set_read_callback(archive_, Callbacks::read);
  archive_read_set_callback_data(archive_, this);
  // A zip file says at its end what it holds.
  if (form_ == Form::archive && raw_->seek(0, SEEK_SET) == 0)
    archive_read_set_seek_callback(archive_, Callbacks::seek);
  try {
    if (archive_read_open1(archive_) != ARCHIVE_OK) refuse();
  } catch (...) {
    archive_read_free(archive_);
    throw;
  }
}

Unpacker::~Unpacker() { archive_read_free(archive_); }

std::string Unpacker::where() const {
  return member_.empty() ? fmt::format("{}: the {} data", name_, kind_)
                         : fmt::format("{}: the {} data of member {}", name_, kind_, member_);
}

void Unpacker::cut_short() const {
  fail_usage("{} is cut short: it ends after {} {}bytes; was the download or copy finished?",
             where(), handed_, form_ == Form::stream ? "compressed " : "");
}

void Unpacker::refuse() {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  // Also of streams that ask for more than libarchive allows.
  require(archive_errno(archive_) != ENOMEM,
          "{}: unpacking it takes more memory than there is or than is allowed (xz: 1 GiB); "
          "compress it with a lower preset",
          where());
  if (ended_) cut_short();
  const char* reason = archive_error_string(archive_);
  fail_usage("{} is damaged near byte {} of the {}: {}", where(), consumed(),
             form_ == Form::stream ? "compressed file" : "archive",
             reason != nullptr ? reason : "not what such programs write");
}

void Unpacker::skip_rest() {
  if (std::exchange(inside_, false) && archive_read_data_skip(archive_) < ARCHIVE_OK) refuse();
}

// A decoder that has met an error may be half torn down, so none is asked again.
template <class Step>
auto Unpacker::unless_failed(const Step& step) {
  if (failure_) std::rethrow_exception(failure_);
  try {
    return step();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

bool Unpacker::next(Member& member) {
  return unless_failed([&] { return next_member(member); });
}

size_t Unpacker::read(char* bytes, size_t room) {
  return unless_failed([&] { return read_member(bytes, room); });
}

bool Unpacker::next_member(Member& member) {
  skip_rest();
  member_.clear();
  const int64_t before = archive_filter_bytes(archive_, 0);
  const Utf8Names names;
  archive_entry* entry = nullptr;
  int status = ARCHIVE_RETRY;
  while (status == ARCHIVE_RETRY) status = archive_read_next_header(archive_, &entry);
  if (status == ARCHIVE_EOF && !thrown_) {
    if (form_ == Form::stream)
      check_stream_end();
    else
      check_archive_end(before);
    return false;
  }
  // A warning is of a name or a date; contents have checksums of their own.
  if (status < ARCHIVE_WARN || thrown_) refuse();
  inside_ = true;
  member = {form_ == Form::stream ? "" : name_of(entry), kind_of(entry)};
  member_ = member.name;
  // Where the format's first bytes are there and the rest of its header is not, the bytes come as
  // they are.
  if (form_ == Form::stream && archive_filter_count(archive_) < 2)
    fail_usage("{} is damaged or cut short at its beginning, after {} compressed bytes", where(),
               handed_);
  require(archive_entry_is_encrypted(entry) == 0,
          "{}: member {} is encrypted; unpack it with its password first", name_, member_);
  return true;
}

size_t Unpacker::read_member(char* bytes, size_t room) {
  if (!inside_) return 0;
  la_ssize_t got = ARCHIVE_RETRY;
  while (got == ARCHIVE_RETRY) got = archive_read_data(archive_, bytes, room);
  if (got < 0 || thrown_) refuse();
  if (got == 0 && form_ == Form::stream) check_stream_end();
  return got;
}

// libarchive leaves alone what follows a stream of bzip2 or lz4 and is no other one.
void Unpacker::check_stream_end() {
  char more = 0;
  const int64_t used = archive_filter_bytes(archive_, -1);
  require(used == handed_ && raw_->read(&more, 1) == 0,
          "{} ends at byte {} of the compressed file, but bytes follow that are no such data; is "
          "it damaged?",
          where(), used);
}

// A tar archive ends with blocks of zeros. What lies behind an archive is read as well, so that the
// checksums of its compression are.
void Unpacker::check_archive_end(int64_t before) {
  const bool tar = (archive_format(archive_) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
  if (tar && archive_filter_bytes(archive_, 0) - before < kTarBlock) cut_short();
  if (raw_->plain()) return;
  while (raw_->read(buffer_.data(), buffer_.size()) > 0) {
  }
}

std::unique_ptr<ByteSource> unpacked_stream(std::unique_ptr<ByteSource> raw,
                                            const std::string& name, const std::string& kind) {
  auto unpacker = std::make_shared<Unpacker>(std::move(raw), name, kind, Unpacker::Form::stream);
  Unpacker::Member whole;
  unpacker->next(whole);
  return member_source(std::move(unpacker));
}

std::unique_ptr<ByteSource> member_source(std::shared_ptr<Unpacker> unpacker) {
  return std::make_unique<MemberSource>(std::move(unpacker));
}

}  // namespace skein::data
