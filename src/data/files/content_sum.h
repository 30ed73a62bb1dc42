// The sum of a part of a file, read in pieces: it takes little memory, and a disk's error is an
// Error.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace skein::data {

// XXH3-64 (seed 0) of `bytes` bytes from byte `begin` on of an open file, wherever it stands, which
// errors call `name`. go_on is asked after each piece of a few MiB, where it is given; nothing once
// it says false. Error(failure) where the file has not so many bytes any more or cannot be read.
std::optional<uint64_t> content_sum(int descriptor, const std::string& name, uint64_t begin,
                                    uint64_t bytes, const std::function<bool()>& go_on = {});
// The same of the file at `path`.
uint64_t content_sum(const std::string& path, uint64_t begin, uint64_t bytes);

}  // namespace skein::data
