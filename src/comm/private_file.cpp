#include "skein/comm/private_file.h"

#include "skein/comm/secret.h"
#include "skein/core/error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "socket.h"

namespace skein {
namespace {

constexpr off_t kLongest = 1 << 20;

std::string reason() { return std::strerror(errno); }

void check_private(int file, const std::string& path) {
  struct stat found {};
  if (fstat(file, &found) != 0) fail("{} cannot be read: {}", path, reason());
  if (!S_ISREG(found.st_mode)) fail("{} is no file", path);
  if (found.st_uid != geteuid())
    fail(
        "{} belongs to user {}, and this process runs as user {}; a secret is read only from a "
        "file of one's own",
        path, found.st_uid, geteuid());
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    fail("{} has mode {:04o}, so others can reach the secret in it; give it mode 0600", path,
         found.st_mode & 07777);
  if (found.st_size > kLongest) fail("{} has {} bytes; that is no secret", path, found.st_size);
}

std::string read_all(int file, const std::string& path) {
  std::string text(static_cast<size_t>(kLongest) + 1, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t now = read(file, text.data() + done, text.size() - done);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) fail("{} cannot be read: {}", path, reason());
    if (now == 0) break;
    done += static_cast<size_t>(now);
  }
  text.resize(done);
  return text;
}

void write_all(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t now = write(file, text.data() + done, text.size() - done);
    if (now < 0 && errno != EINTR) fail("{}", reason());
    if (now > 0) done += static_cast<size_t>(now);
  }
}

// A file under a name that nobody can know beforehand, which is gone unless it was renamed.
class Draft {
 public:
  explicit Draft(const std::string& path)
      : path_(path + "." + fresh_secret().substr(0, 16)),
        file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    if (!file_) fail("{}", reason());
  }
  ~Draft() {
    if (file_) unlink(path_.c_str());
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  void write(const std::string& text) const {
    const int file = file_.descriptor();
    // Whatever the umask has taken away.
    if (fchmod(file, 0600) != 0) fail("{}", reason());
    check_private(file, path_);
    write_all(file, text);
    if (fsync(file) != 0) fail("{}", reason());
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
  if (!file && errno == ENOENT) fail("{} does not exist yet", path);
  if (!file) fail("{} cannot be read: {}", path, reason());
  check_private(file.descriptor(), path);
  return read_all(file.descriptor(), path);
}

void write_private(const std::string& path, const std::string& text) {
  Draft draft(path);
  draft.write(text);
  draft.rename_to(path);
}

}  // namespace skein
