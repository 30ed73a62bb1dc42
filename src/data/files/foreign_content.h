// What a file holds that is no text.
#pragma once

#include <string>
#include <string_view>

namespace skein::data {

struct ForeignContent {
  std::string what;    // "a PNG image"; "" for text
  std::string advice;  // what to do
};

// Of the first bytes of a file, 64 KiB or so, after decompression: known beginnings, else many
// NULs, control characters or bytes that are no UTF-8. Texts with a few of these, and texts in an
// encoding of one byte a character with mostly ASCII (Latin-1), are text.
ForeignContent foreign_content(std::string_view head);

// Zip files that are something else than an archive of texts: documents, programs, weights. By the
// name of their first member.
ForeignContent packed_content(std::string_view head);

}  // namespace skein::data
