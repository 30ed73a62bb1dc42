#include "token_file.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

#include "skein/core/error.h"

namespace skein::data {
namespace {

bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](unsigned char c) {
    return c >= 0x20 ? c != 0x7f : c == '\n' || c == '\r' || c == '\t' || c == '\f';
  });
}

constexpr std::string_view kUnknown = "binary data of no known kind";

// O_NONBLOCK: a pipe that nobody writes must not hang.
FileDescriptor opened(const std::string& path, const StoreKind& kind) try {
  return FileDescriptor(path, O_RDONLY | O_NONBLOCK);
} catch (const SystemError& error) {
  fail_to_open(error.number(), "cannot open {} {} ({} makes one from text)", kind.name, path,
               kind.maker);
}

}  // namespace

bool is_regular_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error && !names_nothing(error.value())) fail("cannot look at {}: {}", path, error.message());
  return std::filesystem::is_regular_file(status);
}

MappedFile map_store(const std::string& path, const StoreKind& kind) {
  const FileDescriptor file = opened(path, kind);
  const struct stat status = file.status();
  require(S_ISREG(status.st_mode), "{} is {}, not a {}", path,
          S_ISDIR(status.st_mode) ? "a directory" : "not a regular file", kind.name);
  require(status.st_size > 0, "{} is empty (0 bytes); {} makes {}s from text", path, kind.maker,
          kind.name);
  return MappedFile(file, path);
}

std::string_view what_it_looks_like(std::string_view head) {
  using namespace std::literals;
  constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"\x1f\x8b\x08"sv, "gzip data: decompress it and encode the text"},
      {"\x28\xb5\x2f\xfd"sv, "zstd data: decompress it and encode the text"},
      {"\xfd\x37zXZ\0"sv, "xz data: decompress it and encode the text"},
      {"PK\x03\x04"sv, "a zip archive: unpack it and encode the text"},
      {"PAR1"sv, "a Parquet file: write its text column as JSON lines and encode those"},
      {"MMIDIDX\0\0"sv, "a Megatron-LM index: give it the suffix .idx, with its .bin beside it"},
      {"\x93NUMPY"sv, "a NumPy array"},
  };
  for (const auto& [signature, kind] : kinds)
    if (head.starts_with(signature)) return kind;
  if (head.size() > 8 && head[8] == '{' && head[7] == '\0' && head[6] == '\0')
    return "a safetensors file";
  if (is_text(head)) return "text: encode it first";
  return kUnknown;
}

bool looks_like_something(std::string_view head) { return what_it_looks_like(head) != kUnknown; }

}  // namespace skein::data
