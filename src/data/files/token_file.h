// Files that should hold tokens or records.
#pragma once

#include <string>
#include <string_view>

#include "skein/core/files/mapped_file.h"
#include "skein/data/files/store_kind.h"

namespace skein::data {

// Whether there is a regular file, links followed. Error(failure) where that cannot be seen.
bool is_regular_file(const std::string& path);

// A usage error when there is none, or when it is empty or no regular file; Error(failure) where
// the system refuses it.
MappedFile map_store(const std::string& path, const StoreKind& kind);
// The same of token stores of any format.
inline MappedFile map_tokens(const std::string& path) { return map_store(path, kTokenStore); }

// What a file that begins with `head` seems to be, and what to do with it.
std::string_view what_it_looks_like(std::string_view head);
// Whether that is a kind of its own, not just any bytes.
bool looks_like_something(std::string_view head);

}  // namespace skein::data
