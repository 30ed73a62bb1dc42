// A folder for temporary files that nobody else can look into or plant something in.
#pragma once

#include <string>

namespace skein {

class PrivateFolder {
 public:
  // A new folder of mode 0700 in $TMPDIR, or in /tmp, whose name begins with `stem`. Error(failure)
  // with the cause. Removed at the end, with all it holds.
  explicit PrivateFolder(const std::string& stem);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace skein
