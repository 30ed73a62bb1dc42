// What faulty_files.c does at every call: what it was told, counting, failing, crawling, recording.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
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
static const char *below, *slow_when;
static char fail_call[32], slow_call[32];
static long fail_number, slow_microseconds, slow_from, power = -1, changes;
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
  if (slow != NULL) sscanf(slow, "%ld:%31[^:]:%ld", &slow_microseconds, slow_call, &slow_from);
  slow_when = getenv("SKEIN_TEST_FAULTS_SLOW_WHEN");
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

static int is_slow(const char* call, long number) {
  if (slow_microseconds == 0 || number < slow_from) return 0;
  if (strcmp(slow_call, "*") != 0 && strcmp(slow_call, call) != 0) return 0;
  return slow_when == NULL || syscall(SYS_faccessat, AT_FDCWD, slow_when, F_OK) == 0;
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
  if (is_slow(call, number)) crawl();
  const int hit = strcmp(fail_call, call) == 0 &&
                  (fail_lasting ? number >= fail_number : number == fail_number);
  if (hit && fail_errno == 0) kill(getpid(), SIGKILL);
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

// 0: a folder, whose number may have been a file's before.
static unsigned long inode_of(int fd) {
  struct stat status;
  return REAL(fstat)(fd, &status) == 0 && !S_ISDIR(status.st_mode) ? status.st_ino : 0;
}

static void recorded(int done, const char* name, unsigned long inode, long offset,
                     const void* bytes, size_t size, const char* path, const char* other) {
  if (done) end_change(name, inode, offset, bytes, size, path, other);
  pthread_mutex_unlock(&change);
}
