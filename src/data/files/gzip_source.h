// A decompressor of gzip over another source. Not libarchive's, which does not look at gzip's
// checksums.
#pragma once

#include <memory>
#include <string>

#include "skein/data/files/byte_source.h"

namespace skein::data {

// `name` is the input's name in errors. Concatenated streams are taken as one, as the tools do.
std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> raw, std::string name);

}  // namespace skein::data
