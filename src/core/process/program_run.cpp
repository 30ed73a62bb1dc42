#include "skein/core/process/program_run.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "skein/core/files/files.h"
#include "skein/core/stop_signals.h"

extern char** environ;

namespace skein {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenWaits = std::chrono::milliseconds(2);

// What the child is to find instead of what this process has set up for itself.
class SpawnSettings {
 public:
  explicit SpawnSettings(const ChildFiles& ours) {
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    for (const int number : changed_signals()) sigaddset(&defaults, number);
    posix_spawn_file_actions_init(&files);
    take(ours.input, STDIN_FILENO);
    take(ours.output, STDOUT_FILENO);
    take(ours.errors, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

 private:
  void take(int descriptor, int as) {
    if (descriptor >= 0) posix_spawn_file_actions_adddup2(&files, descriptor, as);
  }
};

// A file in memory, not a pipe: neither side can wait for the other, and a program that ends early
// breaks nothing.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text = {})
      : file_(::memfd_create("skein", MFD_CLOEXEC), "a file in memory") {
    if (file_.get() < 0) fail_system(errno, "no file in memory can be made");
    file_.write_at(std::as_bytes(std::span(text)), 0);
  }
  int descriptor() const { return file_.get(); }
  std::string text() const {
    std::string made(::lseek(file_.get(), 0, SEEK_END), '\0');
    file_.read_at(std::as_writable_bytes(std::span(made)), 0);
    return made;
  }

 private:
  FileDescriptor file_;
};

// False where it was ended by force.
bool wait_for(pid_t pid, double seconds, int& status) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (pid_t got; (got = ::waitpid(pid, &status, WNOHANG)) != pid;) {
    if (got < 0 && errno != EINTR) fail_system(errno, "process {} cannot be waited for", pid);
    if (Clock::now() > end) {
      ::kill(-pid, SIGKILL);
      while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
      return false;
    }
    std::this_thread::sleep_for(kBetweenWaits);
  }
  return true;
}

}  // namespace

pid_t spawn(const std::vector<std::string>& words, const ChildFiles& files) {
  const SpawnSettings settings(files);
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, pointers.front(), &settings.files, &settings.attributes,
                                   pointers.data(), environ);
  if (error != 0) fail_system(error, "{} cannot be started", words.front());
  return pid;
}

ProgramRun run_program(const std::vector<std::string>& words, const std::string& input,
                       double seconds) {
  const MemoryFile given(input), output, errors;
  ProgramRun made;
  const pid_t pid = spawn(words, {given.descriptor(), output.descriptor(), errors.descriptor()});
  made.in_time = wait_for(pid, seconds, made.status);
  made.output = output.text();
  made.errors = errors.text();
  return made;
}

}  // namespace skein
