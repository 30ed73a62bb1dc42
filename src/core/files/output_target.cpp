#include "skein/core/files/output_target.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <unistd.h>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/strings.h"

namespace skein {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as many as Linux follows
constexpr size_t kLongestWrite = size_t{1} << 26;

std::string cause() { return std::generic_category().message(errno); }

// The N of /dev/fd/N, by whatever links it is reached; -1 for any other path. What such a name
// shows as its target need not be a path at all.
int own_descriptor(const fs::path& path) {
  std::error_code error;
  const fs::path own = fs::canonical("/proc/self/fd", error);
  if (error || fs::canonical(path.has_parent_path() ? path.parent_path() : ".", error) != own)
    return -1;
  return parsed_number<int>(path.filename().string()).value_or(-1);
}

std::pair<Occupant, const char*> occupant_of(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return {Occupant::file, "a file"};
  if (S_ISDIR(status.st_mode)) return {Occupant::folder, "a directory"};
  if (S_ISCHR(status.st_mode)) return {Occupant::stream, "a device"};
  if (S_ISFIFO(status.st_mode)) return {Occupant::stream, "a named pipe"};
  if (S_ISLNK(status.st_mode)) return {Occupant::other, "a symbolic link"};
  return {Occupant::other, S_ISSOCK(status.st_mode) ? "a socket" : "a block device"};
}

// What cannot be looked at counts as nothing: opening or renaming will say why.
void classify(OutputTarget& target) {
  struct stat status {};
  if (::lstat(target.path.c_str(), &status) != 0) return;
  std::tie(target.occupant, target.kind) = occupant_of(status);
}

}  // namespace

OutputTarget output_target(const std::string& path) {
  OutputTarget target{path, Occupant::nothing, "", -1};
  std::error_code error;
  for (int links = 0; links <= kMostLinks; ++links) {
    if ((target.descriptor = own_descriptor(target.path)) >= 0) {
      target.occupant = Occupant::stream;
      target.kind = fmt::format("the open descriptor {}", target.descriptor);
      return target;
    }
    const fs::path leads_to = fs::read_symlink(target.path, error);
    if (error) {
      classify(target);
      return target;
    }
    target.path = (fs::path(target.path).parent_path() / leads_to).string();
  }
  fail_usage("{} is a symbolic link that leads through more than {} others; name the file itself",
             path, kMostLinks);
}

std::string file_target(const std::string& path, ExistingFile existing, const std::string& option) {
  const OutputTarget target = output_target(path);
  const std::string given = option.empty() ? path : option + "=" + path;
  require(target.occupant == Occupant::nothing || target.occupant == Occupant::file,
          "{} is {}, which no file may take the place of; name a file", given, target.kind);
  require(existing == ExistingFile::replace || target.occupant == Occupant::nothing,
          "{} exists already and is not to be replaced; choose another name", given);
  return target.path;
}

int open_stream(const OutputTarget& target) {
  if (target.descriptor >= 0) return ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0);
  return ::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

bool write_whole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), std::min(bytes.size(), kLongestWrite));
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = EIO;
    if (done <= 0) return false;
    bytes.remove_prefix(done);
  }
  return true;
}

void write_stream(const OutputTarget& target, std::string_view bytes) {
  const int stream = open_stream(target);
  if (stream < 0) fail("cannot open {} for writing: {}", target.path, cause());
  const bool whole = write_whole(stream, bytes);
  const std::string reason = whole ? "" : cause();
  ::close(stream);
  if (!whole) fail("cannot write to {}: {}", target.path, reason);
}

int make_temporary_file(const std::string& path) {
  ::unlink(path.c_str());
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

bool give_free_name(const std::string& from, const std::string& to) {
  struct stat mine {
  }, there{};
  if (::lstat(from.c_str(), &mine) != 0) return false;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  const bool folder = S_ISDIR(mine.st_mode);
  int error = errno;
  // A file system without that call: a second name does as well. Of folders rename replaces none
  // but empty ones.
  if (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP)
    error = (folder ? ::rename : ::link)(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  // A network file system may have lost the answer and asked once more.
  const bool given = error == 0 || (::lstat(to.c_str(), &there) == 0 &&
                                    there.st_dev == mine.st_dev && there.st_ino == mine.st_ino);
  if (given && !folder) ::unlink(from.c_str());
  errno = error;
  return given;
}

void publish(const std::string& temporary, const std::string& path, ExistingFile existing) {
  if (existing == ExistingFile::refuse) {
    if (give_free_name(temporary, path)) return;
    if (errno == EEXIST || errno == ENOTEMPTY)
      fail("{} has come to exist while it was being made, and is not replaced", path);
    fail("cannot rename {} to {}: {}", temporary, path, cause());
  }
  OutputTarget target{path, Occupant::nothing, "", -1};
  classify(target);
  if (target.occupant != Occupant::nothing && target.occupant != Occupant::file)
    fail("{} has become {} while it was being made, and is not replaced", path, target.kind);
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    fail("cannot rename {} to {}: {}", temporary, path, cause());
}

}  // namespace skein
