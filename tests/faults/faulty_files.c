// For LD_PRELOAD: the file calls of a program below one folder fail, crawl, or are recorded until
// the power is lost. What it does is told by variables; without SKEIN_TEST_FAULTS_BELOW it does
// nothing.
//   SKEIN_TEST_FAULTS_BELOW=FOLDER             the folder, an absolute path without links
//   SKEIN_TEST_FAULTS_TRACE=FILE               a line for each call: its name, which one of that
//   name, the path SKEIN_TEST_FAULTS_FAIL=CALL:N:ERRNO        the Nth call of that name fails with
//   this number; CALL:N:ERRNO:lasting: the later ones too SKEIN_TEST_FAULTS_SLOW=MICROSECONDS:CALL
//   each call of that name takes so long; * stands for every call SKEIN_TEST_FAULTS_RECORD=FILE
//   what changes the folder, in order and with its bytes; power_loss reads it
//   SKEIN_TEST_FAULTS_POWER=N                  the process is killed before its Nth change
// A call's name is that of the function without "64". A failing close has closed, any other failing
// call has done nothing.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name)                                                         \
  ({                                                                       \
    static __typeof__(&name) found;                                        \
    if (found == NULL) found = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
    found;                                                                 \
  })

enum { kMostNames = 64 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;
static const char* below;
static char fail_call[32], slow_call[32];
static long fail_number, slow_microseconds, power = -1, changes;
static int fail_errno, fail_lasting, trace_fd = -1, record_fd = -1;
static struct {
  const char* _Atomic name;
  atomic_long calls;
} counted[kMostNames];

static int opened_log(const char* variable) {
  const char* path = getenv(variable);
  if (path == NULL) return -1;
  return (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static void configure(void) {
  below = getenv("SKEIN_TEST_FAULTS_BELOW");
  const char* fail = getenv("SKEIN_TEST_FAULTS_FAIL");
  char lasting[16] = "";
  if (fail != NULL)
    sscanf(fail, "%31[^:]:%ld:%d:%15s", fail_call, &fail_number, &fail_errno, lasting);
  fail_lasting = strcmp(lasting, "lasting") == 0;
  const char* slow = getenv("SKEIN_TEST_FAULTS_SLOW");
  if (slow != NULL) sscanf(slow, "%ld:%31s", &slow_microseconds, slow_call);
  const char* number = getenv("SKEIN_TEST_FAULTS_POWER");
  if (number != NULL) power = atol(number);
  trace_fd = opened_log("SKEIN_TEST_FAULTS_TRACE");
  record_fd = opened_log("SKEIN_TEST_FAULTS_RECORD");
}

// The path of an open file; "" where it has none.
static const char* path_of(int fd, char* out) {
  char link[40];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const long size = syscall(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX - 1);
  out[size > 0 ? size : 0] = '\0';
  return out;
}

static const char* whole_path(int directory, const char* path, char* out) {
  if (path == NULL) return strcpy(out, "");
  if (path[0] == '/') return path;
  char folder[PATH_MAX];
  if (directory == AT_FDCWD) {
    if (syscall(SYS_getcwd, folder, sizeof(folder)) < 0) folder[0] = '\0';
  } else {
    path_of(directory, folder);
  }
  if (path[0] == '\0') return strcpy(out, folder);
  if (snprintf(out, PATH_MAX, "%s/%s", folder, path) >= PATH_MAX) out[0] = '\0';
  return out;
}

static int concerns(const char* path) {
  pthread_once(&once, configure);
  if (below == NULL) return 0;
  const size_t size = strlen(below);
  return strncmp(path, below, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

static long count(const char* call) {
  for (int i = 0; i < kMostNames; ++i) {
    const char* expected = NULL;
    if (atomic_compare_exchange_strong(&counted[i].name, &expected, call) ||
        strcmp(expected, call) == 0)
      return atomic_fetch_add(&counted[i].calls, 1) + 1;
  }
  return 0;
}

static void crawl(void) {
  struct timespec left = {slow_microseconds / 1000000, slow_microseconds % 1000000 * 1000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
}

// Whether this call is to fail; errno says how.
static int faulted(const char* call, const char* path) {
  const int kept = errno;
  if (!concerns(path)) return 0;
  const long number = count(call);
  if (trace_fd >= 0) {
    char line[PATH_MAX + 64];
    const int size = snprintf(line, sizeof(line), "%s %ld %s\n", call, number, path);
    (void)!syscall(SYS_write, trace_fd, line, (size_t)size);
  }
  if (slow_microseconds > 0 && (strcmp(slow_call, "*") == 0 || strcmp(slow_call, call) == 0))
    crawl();
  const int hit = strcmp(fail_call, call) == 0 &&
                  (fail_lasting ? number >= fail_number : number == fail_number);
  errno = hit ? fail_errno : kept;
  return hit;
}

static int faulted_at(const char* call, int directory, const char* path) {
  char text[PATH_MAX];
  return faulted(call, whole_path(directory, path, text));
}

static int faulted_fd(const char* call, int fd) {
  char text[PATH_MAX];
  return faulted(call, path_of(fd, text));
}

// ---- what changes the folder is recorded: "NAME INODE OFFSET LENGTH PATH\tOTHER PATH\n" and
// LENGTH bytes

static int begin_change(const char* path) {
  if (!concerns(path) || record_fd < 0) return 0;
  pthread_mutex_lock(&change);
  if (++changes == power) kill(getpid(), SIGKILL);
  return 1;
}

static void put(const void* bytes, size_t size) {
  for (const char* at = bytes; size > 0;) {
    const long done = syscall(SYS_write, record_fd, at, size);
    if (done <= 0) abort();
    at += done;
    size -= (size_t)done;
  }
}

static void end_change(const char* name, unsigned long inode, long offset, const void* bytes,
                       size_t size, const char* path, const char* other) {
  char head[2 * PATH_MAX + 128];
  const int kept = errno;
  put(head, (size_t)snprintf(head, sizeof(head), "%s %lu %ld %zu %s\t%s\n", name, inode, offset,
                             size, path, other));
  if (bytes != NULL) put(bytes, size);
  errno = kept;
}

static unsigned long inode_of(int fd) {
  struct stat status;
  return REAL(fstat)(fd, &status) == 0 ? status.st_ino : 0;
}

static void recorded(int done, const char* name, unsigned long inode, long offset,
                     const void* bytes, size_t size, const char* path, const char* other) {
  if (done) end_change(name, inode, offset, bytes, size, path, other);
  pthread_mutex_unlock(&change);
}

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
int open64(const char* path, int flags, ...) {
  return open_any("open", AT_FDCWD, path, flags, MODE(flags));
}
int openat(int directory, const char* path, int flags, ...) {
  return open_any("openat", directory, path, flags, MODE(flags));
}
int openat64(int directory, const char* path, int flags, ...) {
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
FILE* fopen64(const char* path, const char* mode) { return fopen_any(path, mode); }

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
BY_PATH(int, -1, "stat", stat64, (const char* path, struct stat64* out), (path, out))
BY_PATH(int, -1, "lstat", lstat, (const char* path, struct stat* out), (path, out))
BY_PATH(int, -1, "lstat", lstat64, (const char* path, struct stat64* out), (path, out))
BY_AT(int, -1, "fstatat", fstatat, (int directory, const char* path, struct stat* out, int flags),
      (directory, path, out, flags))
BY_AT(int, -1, "fstatat", fstatat64,
      (int directory, const char* path, struct stat64* out, int flags),
      (directory, path, out, flags))
BY_AT(int, -1, "statx", statx,
      (int directory, const char* path, int flags, unsigned mask, struct statx* out),
      (directory, path, flags, mask, out))
BY_FD(int, -1, "fstat", fstat, (int fd, struct stat* out), (fd, out))
BY_FD(int, -1, "fstat", fstat64, (int fd, struct stat64* out), (fd, out))
BY_PATH(int, -1, "statvfs", statvfs, (const char* path, struct statvfs* out), (path, out))
BY_PATH(int, -1, "statvfs", statvfs64, (const char* path, struct statvfs64* out), (path, out))
BY_PATH(int, -1, "access", access, (const char* path, int mode), (path, mode))
BY_PATH(ssize_t, -1, "readlink", readlink, (const char* path, char* out, size_t size),
        (path, out, size))
BY_PATH(char*, NULL, "realpath", realpath, (const char* path, char* out), (path, out))
BY_PATH(DIR*, NULL, "opendir", opendir, (const char* path), (path))
BY_FD(DIR*, NULL, "fdopendir", fdopendir, (int fd), (fd))
BY_FD(ssize_t, -1, "read", read, (int fd, void* out, size_t size), (fd, out, size))
BY_FD(ssize_t, -1, "readv", readv, (int fd, const struct iovec* out, int n), (fd, out, n))
BY_FD(ssize_t, -1, "pread", pread, (int fd, void* out, size_t size, off_t offset),
      (fd, out, size, offset))
BY_FD(ssize_t, -1, "pread", pread64, (int fd, void* out, size_t size, off64_t offset),
      (fd, out, size, offset))
BY_FD(int, -1, "flock", flock, (int fd, int how), (fd, how))
BY_FD(int, -1, "futimens", futimens, (int fd, const struct timespec times[2]), (fd, times))
BY_AT(int, -1, "utimensat", utimensat,
      (int directory, const char* path, const struct timespec times[2], int flags),
      (directory, path, times, flags))
BY_PATH(int, -1, "chmod", chmod, (const char* path, mode_t mode), (path, mode))
BY_FD(int, -1, "fchmod", fchmod, (int fd, mode_t mode), (fd, mode))

struct dirent* readdir(DIR* stream) {
  return faulted_fd("readdir", dirfd(stream)) ? NULL : REAL(readdir)(stream);
}
struct dirent64* readdir64(DIR* stream) {
  return faulted_fd("readdir", dirfd(stream)) ? NULL : REAL(readdir64)(stream);
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  return fd >= 0 && faulted_fd("mmap", fd) ? MAP_FAILED
                                           : REAL(mmap)(at, size, protection, flags, fd, offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int fd, off64_t offset) {
  return fd >= 0 && faulted_fd("mmap", fd) ? MAP_FAILED
                                           : REAL(mmap64)(at, size, protection, flags, fd, offset);
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
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  return pwrite(fd, bytes, size, offset);
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
CHANGE_BY_FD("ftruncate", ftruncate64, (int fd, off64_t size), (fd, size), "truncate", size)
CHANGE_BY_FD("fallocate", fallocate, (int fd, int mode, off_t from, off_t size),
             (fd, mode, from, size), "extend", (mode & FALLOC_FL_KEEP_SIZE) ? 0 : from + size)
CHANGE_BY_FD("fallocate", fallocate64, (int fd, int mode, off64_t from, off64_t size),
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
