#include "skein/core/files/private_folder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "skein/core/error.h"

namespace skein {
namespace {

namespace fs = std::filesystem;

TEST(PrivateFolder, IsNewAndForItsOwnerOnlyAndGoesWithWhatItHolds) {
  std::string path;
  {
    const PrivateFolder one("skein-test"), two("skein-test");
    path = one.path();
    EXPECT_NE(path, two.path());
    EXPECT_TRUE(fs::path(path).filename().string().starts_with("skein-test-"));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    fs::create_directory(path + "/inner");
    std::ofstream(path + "/inner/file") << "text";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(PrivateFolder, NamesTheFolderThatCannotHoldIt) {
  const char* before = getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", "/proc", 1);
  try {
    const PrivateFolder folder("skein-test");
    ADD_FAILURE() << "made " << folder.path();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failure);
    EXPECT_NE(std::string(error.what()).find("/proc"), std::string::npos) << error.what();
  }
  if (before)
    setenv("TMPDIR", kept.c_str(), 1);
  else
    unsetenv("TMPDIR");
}

}  // namespace
}  // namespace skein
