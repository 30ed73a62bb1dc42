// For LD_PRELOAD: the file calls of a program below one folder fail, crawl, or are recorded until
// the power is lost. What it does is told by variables, SKEIN_TEST_FAULTS_ and
//   BELOW=FOLDER             the folder, an absolute path without links; without it nothing is done
//   TRACE=FILE               a line for each call: its name, which one of that name, the path
//   FAIL=CALL:N:ERRNO        the Nth call of that name fails with this number
//   FAIL=CALL:N:ERRNO:lasting  the later ones fail, too
//   FAIL=CALL:N:0            the process is killed before it
//   SLOW=MICROSECONDS:CALL   each call of that name takes so long; * stands for every call
//   SLOW=MICROSECONDS:CALL:N  the Nth and all later ones do
//   SLOW_WHEN=FILE           they do where that file is there
//   RECORD=FILE              what changes the folder, in order and with its bytes, for power_loss
//   POWER=N                  the process is killed before its Nth change
// A call's name is that of the function without "64". A failing close has closed, any other failing
// call has done nothing.
#define _GNU_SOURCE
#include "faulty_core.h"

// ---- opening

static int exists(int directory, const char* path) {
  struct stat status;
  const int kept = errno, found = REAL(fstatat)(directory, path, &status, 0) == 0;
  errno = kept;
  return found;
}

static void note_opened(int fd, int flags, int was_there, const char* path) {
  if (fd >= 0 && !was_there) end_change("create", inode_of(fd), 0, NULL, 0, path, "");
  if (fd >= 0 && was_there && (flags & O_TRUNC))
    end_change("truncate", inode_of(fd), 0, NULL, 0, path, "");
  pthread_mutex_unlock(&change);
}

static int open_any(const char* call, int directory, const char* path, int flags, mode_t mode) {
  char text[PATH_MAX];
  const char* whole = whole_path(directory, path, text);
  if (faulted(call, whole)) return -1;
  const int changing = (flags & (O_CREAT | O_TRUNC)) && begin_change(whole);
  const int was_there = changing && exists(directory, path);
  const int fd = REAL(openat)(directory, path, flags, mode);
  if (changing) note_opened(fd, flags, was_there, whole);
  return fd;
}

#define MODE(flags)                                                          \
  ({                                                                         \
    va_list rest;                                                            \
    va_start(rest, flags);                                                   \
    const int makes = ((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE; \
    const mode_t given = makes ? va_arg(rest, mode_t) : 0;                   \
    va_end(rest);                                                            \
    given;                                                                   \
  })

int open(const char* path, int flags, ...) {
  return open_any("open", AT_FDCWD, path, flags, MODE(flags));
}
int openat(int directory, const char* path, int flags, ...) {
  return open_any("openat", directory, path, flags, MODE(flags));
}

static FILE* fopen_any(const char* path, const char* mode) {
  char text[PATH_MAX];
  const char* whole = whole_path(AT_FDCWD, path, text);
  if (faulted("fopen", whole)) return NULL;
  const int flags = mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT : 0;
  const int changing = flags != 0 && begin_change(whole);
  const int was_there = changing && exists(AT_FDCWD, path);
  FILE* file = REAL(fopen)(path, mode);
  if (changing) note_opened(file == NULL ? -1 : fileno(file), flags, was_there, whole);
  return file;
}

FILE* fopen(const char* path, const char* mode) { return fopen_any(path, mode); }

int close(int fd) {
  const int failing = faulted_fd("close", fd), number = errno, result = REAL(close)(fd);
  if (!failing) return result;
  errno = number;
  return -1;
}

int fclose(FILE* file) {
  const int failing = faulted_fd("fclose", fileno(file)), number = errno,
            result = REAL(fclose)(file);
  if (!failing) return result;
  errno = number;
  return EOF;
}

// ---- reading and asking

#define BY_PATH(type, failure, call, name, parameters, arguments) \
  type name parameters { return faulted_at(call, AT_FDCWD, path) ? failure : REAL(name) arguments; }
#define BY_AT(type, failure, call, name, parameters, arguments)                \
  type name parameters {                                                       \
    return faulted_at(call, directory, path) ? failure : REAL(name) arguments; \
  }
#define BY_FD(type, failure, call, name, parameters, arguments) \
  type name parameters { return faulted_fd(call, fd) ? failure : REAL(name) arguments; }

BY_PATH(int, -1, "stat", stat, (const char* path, struct stat* out), (path, out))
BY_PATH(int, -1, "lstat", lstat, (const char* path, struct stat* out), (path, out))
BY_AT(int, -1, "fstatat", fstatat, (int directory, const char* path, struct stat* out, int flags),
      (directory, path, out, flags))
BY_AT(int, -1, "statx", statx,
      (int directory, const char* path, int flags, unsigned mask, struct statx* out),
      (directory, path, flags, mask, out))
BY_FD(int, -1, "fstat", fstat, (int fd, struct stat* out), (fd, out))
BY_PATH(int, -1, "statvfs", statvfs, (const char* path, struct statvfs* out), (path, out))
BY_PATH(int, -1, "access", access, (const char* path, int mode), (path, mode))
BY_PATH(ssize_t, -1, "readlink", readlink, (const char* path, char* out, size_t size),
        (path, out, size))
BY_PATH(char*, NULL, "realpath", realpath, (const char* path, char* out), (path, out))
BY_PATH(DIR*, NULL, "opendir", opendir, (const char* path), (path))
BY_FD(DIR*, NULL, "fdopendir", fdopendir, (int fd), (fd))
BY_FD(ssize_t, -1, "read", read, (int fd, void* out, size_t size), (fd, out, size))
BY_FD(ssize_t, -1, "readv", readv, (int fd, const struct iovec* out, int n), (fd, out, n))
BY_FD(ssize_t, -1, "pread", pread, (int fd, void* out, size_t size, off_t at), (fd, out, size, at))
BY_FD(int, -1, "flock", flock, (int fd, int how), (fd, how))
BY_FD(int, -1, "futimens", futimens, (int fd, const struct timespec times[2]), (fd, times))

struct dirent* readdir(DIR* stream) {
  return faulted_fd("readdir", dirfd(stream)) ? NULL : REAL(readdir)(stream);
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  return fd >= 0 && faulted_fd("mmap", fd) ? MAP_FAILED
                                           : REAL(mmap)(at, size, protection, flags, fd, offset);
}

// ---- writing

static ssize_t write_any(const char* call, int fd, const struct iovec* parts, int n, long offset) {
  char text[PATH_MAX];
  const char* path = path_of(fd, text);
  if (faulted(call, path)) return -1;
  if (!begin_change(path))
    return offset >= 0 ? REAL(pwritev)(fd, parts, n, offset) : REAL(writev)(fd, parts, n);
  const long at = offset >= 0                           ? offset
                  : REAL(fcntl)(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END)
                                                        : lseek(fd, 0, SEEK_CUR);
  // One part at a time: so much of the record is written as the file has taken.
  const ssize_t done =
      offset >= 0 ? REAL(pwritev)(fd, parts, 1, offset) : REAL(writev)(fd, parts, 1);
  recorded(done >= 0, "write", inode_of(fd), at, parts[0].iov_base, done > 0 ? (size_t)done : 0,
           path, "");
  return done;
}

ssize_t write(int fd, const void* bytes, size_t size) {
  const struct iovec part = {(void*)bytes, size};
  return write_any("write", fd, &part, 1, -1);
}
ssize_t writev(int fd, const struct iovec* parts, int n) {
  return write_any("writev", fd, parts, n, -1);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  const struct iovec part = {(void*)bytes, size};
  return write_any("pwrite", fd, &part, 1, offset);
}

// Nothing of ours copies in the kernel; who asks for it is told to write.
ssize_t sendfile(int out, int in, off_t* offset, size_t size) {
  char text[PATH_MAX];
  if (!concerns(path_of(out, text))) return REAL(sendfile)(out, in, offset, size);
  errno = EINVAL;
  return -1;
}

#define CHANGE_BY_FD(call, name, parameters, arguments, record, offset)     \
  int name parameters {                                                     \
    char text[PATH_MAX];                                                    \
    const char* path = path_of(fd, text);                                   \
    if (faulted(call, path)) return -1;                                     \
    if (!begin_change(path)) return REAL(name) arguments;                   \
    const int result = REAL(name) arguments;                                \
    recorded(result == 0, record, inode_of(fd), offset, NULL, 0, path, ""); \
    return result;                                                          \
  }

CHANGE_BY_FD("fsync", fsync, (int fd), (fd), "sync", 0)
CHANGE_BY_FD("fdatasync", fdatasync, (int fd), (fd), "sync", 0)
CHANGE_BY_FD("ftruncate", ftruncate, (int fd, off_t size), (fd, size), "truncate", size)
CHANGE_BY_FD("fallocate", fallocate, (int fd, int mode, off_t from, off_t size),
             (fd, mode, from, size), "extend", (mode & FALLOC_FL_KEEP_SIZE) ? 0 : from + size)

// ---- names

#define CHANGE_OF_NAME(call, name, directory, parameters, arguments, record) \
  int name parameters {                                                      \
    char text[PATH_MAX];                                                     \
    const char* whole = whole_path(directory, path, text);                   \
    if (faulted(call, whole)) return -1;                                     \
    if (!begin_change(whole)) return REAL(name) arguments;                   \
    const int result = REAL(name) arguments;                                 \
    recorded(result == 0, record, 0, 0, NULL, 0, whole, "");                 \
    return result;                                                           \
  }

CHANGE_OF_NAME("mkdir", mkdir, AT_FDCWD, (const char* path, mode_t mode), (path, mode), "mkdir")
CHANGE_OF_NAME("mkdirat", mkdirat, directory, (int directory, const char* path, mode_t mode),
               (directory, path, mode), "mkdir")
CHANGE_OF_NAME("unlink", unlink, AT_FDCWD, (const char* path), (path), "remove")
CHANGE_OF_NAME("unlinkat", unlinkat, directory, (int directory, const char* path, int flags),
               (directory, path, flags), "remove")
CHANGE_OF_NAME("rmdir", rmdir, AT_FDCWD, (const char* path), (path), "remove")
CHANGE_OF_NAME("remove", remove, AT_FDCWD, (const char* path), (path), "remove")

#define CHANGE_OF_NAMES(call, name, old_directory, directory, parameters, arguments, record) \
  int name parameters {                                                                      \
    char old_text[PATH_MAX], text[PATH_MAX];                                                 \
    const char* old_whole = whole_path(old_directory, old_path, old_text);                   \
    const char* whole = whole_path(directory, path, text);                                   \
    if (faulted(call, whole)) return -1;                                                     \
    if (!begin_change(whole)) return REAL(name) arguments;                                   \
    const int result = REAL(name) arguments;                                                 \
    recorded(result == 0, record, 0, 0, NULL, 0, old_whole, whole);                          \
    return result;                                                                           \
  }

CHANGE_OF_NAMES("rename", rename, AT_FDCWD, AT_FDCWD, (const char* old_path, const char* path),
                (old_path, path), "rename")
CHANGE_OF_NAMES("renameat", renameat, old_directory, directory,
                (int old_directory, const char* old_path, int directory, const char* path),
                (old_directory, old_path, directory, path), "rename")
CHANGE_OF_NAMES("renameat2", renameat2, old_directory, directory,
                (int old_directory, const char* old_path, int directory, const char* path,
                 unsigned flags),
                (old_directory, old_path, directory, path, flags), "rename")
CHANGE_OF_NAMES("link", link, AT_FDCWD, AT_FDCWD, (const char* old_path, const char* path),
                (old_path, path), "link")
CHANGE_OF_NAMES("linkat", linkat, old_directory, directory,
                (int old_directory, const char* old_path, int directory, const char* path,
                 int flags),
                (old_directory, old_path, directory, path, flags), "link")

// ---- the twins for long files, which are the same calls where a long has 64 bits

_Static_assert(sizeof(off_t) == 8 && sizeof(struct stat) == sizeof(struct stat64),
               "not of 64 bits");

#define TWIN(name) __asm__(".globl " #name "64\n.set " #name "64, " #name)

TWIN(open);
TWIN(openat);
TWIN(fopen);
TWIN(stat);
TWIN(lstat);
TWIN(fstat);
TWIN(fstatat);
TWIN(statvfs);
TWIN(readdir);
TWIN(pread);
TWIN(pwrite);
TWIN(mmap);
TWIN(ftruncate);
TWIN(fallocate);
