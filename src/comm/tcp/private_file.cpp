#include "skein/comm/tcp/private_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skein/comm/tcp/secret.h"
#include "skein/core/error.h"
#include "skein/core/files/output_target.h"

#include "socket.h"

namespace skein::tcp {
namespace {

constexpr off_t kLongest = 1 << 20;

std::string reason() { return std::strerror(errno); }

struct stat state_of(int file, const std::string& path) {
  struct stat found {};
  if (fstat(file, &found) != 0) fail("{} cannot be read: {}", path, reason());
  return found;
}

void check_private(int file, const std::string& path) {
  const struct stat found = state_of(file, path);
  require(S_ISREG(found.st_mode), "{} is no file", path);
  require(found.st_uid == geteuid(),
          "{} belongs to user {}, and this process runs as user {}; a secret is read only from a "
          "file of one's own",
          path, found.st_uid, geteuid());
  require((found.st_mode & (S_IRWXG | S_IRWXO)) == 0,
          "{} has mode {:04o}, so others can reach the secret in it; give it mode 0600", path,
          found.st_mode & 07777);
  require(found.st_size <= kLongest, "{} has {} bytes; that is no secret", path, found.st_size);
}

// Some file systems have no owners and modes of their own.
void check_draft(int file, const std::string& path) {
  const struct stat found = state_of(file, path);
  require(found.st_uid == geteuid() && (found.st_mode & (S_IRWXG | S_IRWXO)) == 0,
          "this file system cannot keep a file to one user (a new one belongs to user {} and has "
          "mode {:04o}); give host:port with SKEIN_RENDEZVOUS_SECRET, or a file on another",
          found.st_uid, found.st_mode & 07777);
}

std::string read_all(int file, const std::string& path) {
  std::string text(kLongest + 1, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t now = read(file, text.data() + done, text.size() - done);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) fail("{} cannot be read: {}", path, reason());
    if (now == 0) break;
    done += now;
  }
  text.resize(done);
  return text;
}

// A file under a name that nobody can know beforehand, which is gone unless it was renamed.
class Draft {
 public:
  explicit Draft(const std::string& path)
      : path_(path + "." + fresh_secret().substr(0, 16)),
        file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    if (!file_) throw Error(names_nothing(errno) ? ExitCode::usage : ExitCode::failure, reason());
  }
  ~Draft() {
    if (file_) unlink(path_.c_str());
  }

  void write(const std::string& text) const {
    const int file = file_.descriptor();
    // Whatever the umask has taken away.
    if (fchmod(file, 0600) != 0) fail("{}", reason());
    check_draft(file, path_);
    if (!write_whole(file, text) || fsync(file) != 0) fail("{}", reason());
  }
  void rename_to(const std::string& path) {
    if (rename(path_.c_str(), path.c_str()) != 0) fail("{}", reason());
    file_.close();
  }

 private:
  std::string path_;
  Socket file_;  // a descriptor that is closed at the end
};

}  // namespace

std::string read_private(const std::string& path) {
  const Socket file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && errno == ENOENT) fail_usage("{} does not exist yet", path);
  if (!file) fail_to_open(errno, "{} cannot be read", path);
  check_private(file.descriptor(), path);
  return read_all(file.descriptor(), path);
}

void write_private(const std::string& path, const std::string& text) {
  Draft draft(path);
  draft.write(text);
  draft.rename_to(path);
}

}  // namespace skein::tcp
