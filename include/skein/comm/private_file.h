// Files that hold a secret: of mode 0600, so that no other user of the host can read them.
#pragma once

#include <string>

namespace skein {

// What the file holds. Error(failure) that names it: there is none, it cannot be read, it is no
// file of this user's own, others may read or write it, it is longer than 1 MiB.
std::string read_private(const std::string& path);

// Puts a new file there in one step; what stood there, a link too, is replaced and never followed.
// Error(failure) when that cannot be done, or the file system gives such a file to others as well.
void write_private(const std::string& path, const std::string& text);

}  // namespace skein
