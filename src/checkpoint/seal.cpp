#include "seal.h"

#include <fmt/format.h>
#include <span>
#include <string_view>

#include "skein/core/error.h"
#include "skein/formats/crc32c.h"

namespace skein::checkpoint {
namespace {

// The last field with its line ends; its length never changes.
std::string seal(std::string_view text) {
  return fmt::format(" \"crc32c\": \"{:08x}\"\n}}\n",
                     formats::crc32c(std::as_bytes(std::span(text.data(), text.size()))));
}

}  // namespace

std::string sealed(std::string json) {
  json.resize(json.size() - 2);  // the closing line, which the seal brings again
  json += ",\n";
  return json + seal(json);
}

void check_seal(const std::string& text) {
  const size_t seal_bytes = seal("").size();
  if (text.size() <= seal_bytes) fail("it has only {} bytes", text.size());
  const std::string_view body = std::string_view(text).substr(0, text.size() - seal_bytes);
  if (std::string_view(text).substr(body.size()) != seal(body))
    fail("its bytes do not give the checksum in its last line: it is damaged or was cut or edited");
}

}  // namespace skein::checkpoint
