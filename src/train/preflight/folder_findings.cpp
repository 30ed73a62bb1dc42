#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <sys/file.h>
#include <sys/vfs.h>

#include "skein/core/clock.h"
#include "skein/core/files/files.h"
#include "skein/core/files/mapped_file.h"
#include "skein/core/files/output_target.h"
#include "skein/core/strings.h"
#include "skein/train/preflight/doctor.h"

namespace skein::train {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLeastRoom = 1 << 30, kWritten = 64 << 20;

struct FileSystem {
  std::string name;
  std::string advice;  // where it is none to keep runs on
};

FileSystem file_system_of(const std::string& path) {
  static const std::map<uint32_t, FileSystem> kKnown{
      {0xEF53, {"ext4", ""}},
      {0x58465342, {"XFS", ""}},
      {0x9123683E, {"Btrfs", ""}},
      {0x2FC12FC1, {"ZFS", ""}},
      {0x794C7630, {"overlay", "it goes with its container: mount a folder of the host"}},
      {0x01021994, {"tmpfs", "it lies in memory, and a restart of the host empties it"}},
      {0x6969, {"NFS", ""}},
      {0x0BD00BD0, {"Lustre", ""}},
      {0x47504653, {"GPFS", ""}},
      {0x19830326, {"BeeGFS", ""}},
      {0x00C36400, {"CephFS", ""}},
      {0xFF534D42, {"CIFS", ""}},
      {0xFE534D42, {"SMB", ""}},
      {0x65735546, {"FUSE", ""}}};
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) fail_system(errno, "cannot look at {}", path);
  const auto found = kKnown.find(static_cast<uint32_t>(status.f_type));
  return found != kKnown.end()
             ? found->second
             : FileSystem{fmt::format("type {:#x}", static_cast<uint32_t>(status.f_type)), ""};
}

double seconds_of(const std::function<void()>& work) {
  const double begin = steady_seconds();
  work();
  return steady_seconds() - begin;
}

Finding space(const std::string& folder) {
  const FileSystem kind = file_system_of(folder);
  const int64_t left = free_space(folder);
  Finding made{
      .about = "space",
      .text = fmt::format("{} are free in {} ({})", readable_size(left), folder, kind.name),
      .advice = kind.advice};
  if (left < kLeastRoom)
    made.advice = "a checkpoint takes 12 bytes a parameter, and there are several: free some";
  if (!made.advice.empty()) made.grade = Grade::note;
  return made;
}

void write_and_sync(const std::string& path, int64_t bytes) {
  write_new_file(path, std::string(static_cast<size_t>(bytes), 'x'));
}

// A second holder is refused.
void try_locks(const std::string& path) {
  const FileDescriptor first(path, O_RDWR), second(path, O_RDWR);
  if (::flock(first.get(), LOCK_EX | LOCK_NB) != 0) fail_system(errno, "flock of {}", path);
  if (::flock(second.get(), LOCK_EX | LOCK_NB) == 0)
    fail("two processes hold one lock of {} (flock)", path);
}

void try_names(const std::string& folder) {
  const std::string from = join_path(folder, "one"), to = join_path(folder, "two");
  write_and_sync(from, 1);
  write_and_sync(to, 2);
  if (give_free_name(from, to)) fail("{} was replaced by a rename that must not", to);
  rename_path(from, to);
  sync_directory(folder);
  if (fs::file_size(to) != 1) fail("{} has not what was renamed to it", to);
}

void try_map(const std::string& path) {
  const MappedFile file(path);
  if (file.bytes() == 0 || file.head(1) != "x") fail("{} reads otherwise when it is mapped", path);
}

// In a folder of its own.
Finding abilities(const std::string& folder) {
  const std::string file = join_path(folder, "file"), small = join_path(folder, "small");
  const double large_seconds = seconds_of([&] { write_and_sync(file, kWritten); }),
               small_seconds = seconds_of([&] { write_and_sync(small, 4096); });
  try_locks(file);
  try_names(folder);
  try_map(file);
  return {.about = "files",
          .text = fmt::format("rename, flock, fsync and mmap work; {:.0f} MB/s written and synced, "
                              "a small file takes {:.1f} ms",
                              static_cast<double>(kWritten) / large_seconds / 1e6,
                              small_seconds * 1e3)};
}

}  // namespace

std::vector<Finding> examine_folder(const std::string& folder) {
  std::string own;
  std::vector<Finding> made;
  try {
    const std::string nearest = existing_directory(folder);
    own = join_path(nearest, ".skein-doctor-" + unique_name());
    made.push_back(space(nearest));
    make_directories(own);
    made.push_back(abilities(own));
  } catch (const Error& error) {
    made.push_back({.grade = Grade::bad,
                    .about = "files",
                    .text = error.what(),
                    .advice = "give a folder with run.dir that can be written to, on a file system "
                              "that has rename, flock, fsync and mmap"});
  }
  if (!own.empty()) remove_tree(own);
  return made;
}

}  // namespace skein::train
