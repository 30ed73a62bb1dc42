// Files that hold a secret: of mode 0600, so that no other user of the host can read them.
#pragma once

#include <string>

namespace skein::tcp {

// What the file holds. Error that names it: usage where there is none, it is no file of this user's
// own, others may read or write it, it is longer than 1 MiB; failure where it cannot be read.
std::string read_private(const std::string& path);

// Puts a new file there in one step; what stood there, a link too, is replaced and never followed.
// Error(usage) where there is no such folder, or the file system gives such a file to others as
// well; Error(failure) where storage fails.
void write_private(const std::string& path, const std::string& text);

}  // namespace skein::tcp
