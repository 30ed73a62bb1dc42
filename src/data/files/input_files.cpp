#include "input_files.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "skein/core/error.h"
#include "skein/data/files/suffix.h"

#include "file_source.h"
#include "foreign_content.h"
#include "gzip_source.h"

namespace skein::data {
namespace {

using namespace std::string_view_literals;

constexpr size_t kShown = 10;
constexpr size_t kTarHeader = 512, kTarSum = 148, kTarSumDigits = 8;

struct CompressionSignature {
  std::string_view bytes;
  const char* kind;
};

constexpr CompressionSignature kCompressions[] = {{"\x1F\x8B"sv, "gzip"},
                                                  {"\xFD\x37zXZ\0"sv, "xz"},
                                                  {"\x28\xB5\x2F\xFD"sv, "zstd"},
                                                  {"\x04\x22\x4D\x18"sv, "lz4"}};

// bzip2 in blocks of 100 to 900 kB: a block begins with the digits of pi, the end of an empty file
// with those of its root.
bool is_bzip2(std::string_view head) {
  if (!head.starts_with("BZh") || head.size() < 8 || head[3] < '1' || head[3] > '9') return false;
  return head.substr(4).starts_with("1AY&"sv) || head.substr(4).starts_with("\x17\x72\x45\x38"sv);
}

std::string compression_of(std::string_view head) {
  for (const auto& [bytes, kind] : kCompressions)
    if (head.starts_with(bytes)) return kind;
  return is_bzip2(head) ? "bzip2" : "";
}

// A header's sum, in octal digits, is that of its bytes with blanks instead of itself.
bool is_tar(std::string_view head) {
  if (head.size() < kTarHeader || head.front() == '\0') return false;
  int64_t sum = 0, said = 0;
  for (size_t i = 0; i < kTarHeader; ++i)
    sum += i >= kTarSum && i < kTarSum + kTarSumDigits ? ' ' : head[i] & 0xFF;
  for (const char digit : head.substr(kTarSum, kTarSumDigits))
    if (digit >= '0' && digit <= '7') said = said * 8 + (digit - '0');
  return sum == said;
}

std::string archive_kind(std::string_view head) {
  if (!packed_content(head).what.empty()) return "";
  if (head.starts_with("PK\x03\x04"sv) || head.starts_with("PK\x05\x06"sv)) return "zip";
  return is_tar(head) ? "tar" : "";
}

// Read through its compression, if it has one.
std::unique_ptr<PeekedSource> decompressed(std::unique_ptr<PeekedSource> raw,
                                           const std::string& name) {
  const std::string kind = compression_of(raw->peek());
  if (kind.empty()) return raw;
  return std::make_unique<PeekedSource>(kind == "gzip"
                                            ? gzip_source(std::move(raw), name)
                                            : unpacked_stream(std::move(raw), name, kind));
}

std::unique_ptr<PeekedSource> opened(const std::string& path, const std::string& name,
                                     std::shared_ptr<int64_t> taken) {
  auto raw =
      std::make_unique<PeekedSource>(std::make_unique<FileSource>(path, name, std::move(taken)));
  const std::string_view head = raw->peek(), suffix = compression_in_name(path);
  require(suffix.empty() || !compression_of(head).empty(),
          "{} is named {} but does not begin like such data ({} bytes looked at); rename or "
          "fetch it again",
          path, suffix, head.size());
  return decompressed(std::move(raw), name);
}

bool hidden(const std::string& member) {
  for (const auto& part : std::filesystem::path(member))
    if (part.native().starts_with('.') && part != "." && part != "..") return true;
  return false;
}

// Why a member is not read, from what the archive says of it; "" if it is.
std::string fault_of(const Unpacker::Member& member) {
  if (member.kind == Unpacker::Kind::other) return "a link or a device";
  return hidden(member.name) ? "hidden" : "";
}

}  // namespace

void SkippedFiles::add(const std::string& name, const std::string& reason) {
  ++count_;
  if (named_.size() < kShown) named_.push_back(fmt::format("{} ({})", name, reason));
}

std::string SkippedFiles::line() const {
  if (count_ == 0) return "";
  return fmt::format("{} {} left out: {}{}", count_, count_ == 1 ? "file is" : "files are",
                     fmt::join(named_, ", "), count_ > std::ssize(named_) ? ", ..." : "");
}

InputFiles::InputFiles(const std::string& path, SkippedFiles& skipped, bool found)
    : name_(input_name(path)), input_(name_), skipped_(skipped), found_(found) {
  single_ = opened(path, input_, taken_);
  if (const std::string kind = archive_kind(single_->peek()); !kind.empty())
    unpacker_ =
        std::make_shared<Unpacker>(std::move(single_), input_, kind, Unpacker::Form::archive);
}

std::unique_ptr<ByteSource> InputFiles::next() { return archive() ? next_member() : next_single(); }

std::unique_ptr<ByteSource> InputFiles::next_single() {
  if (!single_) return nullptr;
  const ForeignContent content = foreign_content(single_->peek());
  if (content.what.empty()) return std::move(single_);
  require(found_, "{} is no text: it looks like {}; {}", input_, content.what, content.advice);
  skipped_.add(input_, content.what);
  return nullptr;
}

std::unique_ptr<ByteSource> InputFiles::next_member() {
  for (Unpacker::Member member; unpacker_->next(member);) {
    if (member.kind == Unpacker::Kind::folder) continue;
    name_ = input_ + "/" + member.name;
    std::string fault = fault_of(member);
    if (fault.empty()) {
      auto source = decompressed(std::make_unique<PeekedSource>(member_source(unpacker_)), name_);
      const std::string_view head = source->peek();
      const std::string kind = archive_kind(head);
      fault = kind.empty() ? foreign_content(head).what
                           : fmt::format("a {} archive in an archive", kind);
      if (fault.empty()) return source;
    }
    skipped_.add(name_, fault);
  }
  return nullptr;
}

std::string input_name(const std::string& path) { return path == "-" ? "stdin" : path; }

std::unique_ptr<ByteSource> open_source(const std::string& path) {
  SkippedFiles none;
  InputFiles files(path, none);
  require(!files.archive(), "{} is an archive; unpack it and name the files in it that are meant",
          files.name());
  return files.next();
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  return opened(path, input_name(path), std::make_shared<int64_t>(0));
}

}  // namespace skein::data
