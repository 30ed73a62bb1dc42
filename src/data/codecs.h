// Decompressors over another source.
#pragma once

#include "skein/data/byte_source.h"

#include <memory>
#include <string>

namespace skein {

// `name` is the input's name in errors. Each takes concatenated streams as one, as the tools do.
std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> raw, std::string name);
std::unique_ptr<ByteSource> xz_source(std::unique_ptr<ByteSource> raw, std::string name);
std::unique_ptr<ByteSource> zstd_source(std::unique_ptr<ByteSource> raw, std::string name);

}  // namespace skein
