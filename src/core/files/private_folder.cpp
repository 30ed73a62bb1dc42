#include "skein/core/files/private_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "skein/core/error.h"

namespace skein {

PrivateFolder::PrivateFolder(const std::string& stem) {
  std::error_code error;
  const std::filesystem::path all = std::filesystem::temp_directory_path(error);
  if (error)
    fail("there is no folder for temporary files: {}; let TMPDIR name one", error.message());
  path_ = (all / (stem + "-XXXXXX")).string();
  if (::mkdtemp(path_.data()) == nullptr)
    fail("cannot make a folder for temporary files in {}: {}; let TMPDIR name another",
         all.string(), std::generic_category().message(errno));
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace skein
