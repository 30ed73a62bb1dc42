// Names that an export has only until it is whole can be guessed: what is planted there is not
// written through.
#include <gtest/gtest.h>
#include <unistd.h>

#include "convert/fresh_run.h"

namespace skein::convert {
namespace {

using namespace test;

std::string temporary(const std::string& path) {
  return fmt::format("{}.{}.tmp", path, ::getpid());
}

TEST(Temporary, FoldersAreNew) {
  const Scratch scratch;
  save_fresh(scratch.file("run"), small_model(), 1);
  std::filesystem::create_directory(scratch.file("victim"));
  std::filesystem::create_symlink(scratch.file("victim"), temporary(scratch.file("out")));
  expect_error(ExitCode::failure, {temporary(scratch.file("out")), "exists already"},
               [&] { export_folder(scratch.file("run"), scratch.file("out")); });
  EXPECT_TRUE(std::filesystem::is_empty(scratch.file("victim")));
  EXPECT_FALSE(std::filesystem::exists(scratch.file("out")));
}

TEST(Temporary, FilesReplaceALinkAndNotItsTarget) {
  const Scratch scratch;
  write_file(scratch.file("victim"), "precious");
  const std::vector<formats::SafeTensor> one = {{"a", "U8", {3}, 0, 0}};
  std::filesystem::create_symlink(scratch.file("victim"),
                                  temporary(scratch.file("model.safetensors")));
  formats::SafetensorsWriter writer(scratch.file("model.safetensors"), one, {});
  writer.append(std::vector<std::byte>(3, std::byte{7}));
  writer.finish();
  EXPECT_EQ(bytes_of_file(scratch.file("victim")), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(scratch.file("model.safetensors")));
  EXPECT_EQ(formats::SafetensorsFile(scratch.file("model.safetensors")).tensors().size(), 1u);
}

}  // namespace
}  // namespace skein::convert
