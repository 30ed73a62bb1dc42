#include "skein/scaling/report/gnuplot.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "skein/core/error.h"

extern char** environ;

namespace skein {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(2);
constexpr size_t kToldOfErrors = 600;

// Files in memory, not pipes: neither side can wait for the other, and a program that ends early
// breaks nothing.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text = {})
      : descriptor_(::memfd_create("gnuplot", MFD_CLOEXEC)) {
    if (descriptor_ < 0)
      fail("no file in memory can be made for gnuplot: {}", std::strerror(errno));
    for (size_t done = 0; done < text.size();) {
      const ssize_t written = ::write(descriptor_, text.data() + done, text.size() - done);
      if (written < 0 && errno != EINTR)
        fail("the script for gnuplot cannot be written: {}", std::strerror(errno));
      done += static_cast<size_t>(std::max<ssize_t>(0, written));
    }
    ::lseek(descriptor_, 0, SEEK_SET);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::string text() const {
    std::string made;
    char part[1 << 16];
    ::lseek(descriptor_, 0, SEEK_SET);
    for (ssize_t got; (got = ::read(descriptor_, part, sizeof part)) > 0;)
      made.append(part, static_cast<size_t>(got));
    return made;
  }

 private:
  int descriptor_;
};

pid_t start(const MemoryFile& input, const MemoryFile& output, const MemoryFile& errors) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors.descriptor(), STDERR_FILENO);
  const char* words[] = {"gnuplot", "-d", nullptr};
  pid_t pid = -1;
  const int error =
      ::posix_spawnp(&pid, "gnuplot", &files, nullptr, const_cast<char**>(words), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error == ENOENT)
    fail("gnuplot, which draws the plots, is not installed; install Debian's package gnuplot-nox");
  if (error != 0) fail("gnuplot cannot be started: {}", std::strerror(error));
  return pid;
}

// Its exit status; ended by force after `seconds`, when -1.
int wait_for(pid_t pid, double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  int status = 0;
  for (pid_t got; (got = ::waitpid(pid, &status, WNOHANG)) != pid;) {
    if (got < 0 && errno != EINTR) fail("gnuplot cannot be waited for: {}", std::strerror(errno));
    if (Clock::now() > end) {
      ::kill(pid, SIGKILL);
      while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
      return -1;
    }
    std::this_thread::sleep_for(kLook);
  }
  return status;
}

bool tells_of_error(const std::string& said) {
  for (size_t begin = 0; begin < said.size();) {
    const size_t end = std::min(said.find('\n', begin), said.size());
    const std::string line = said.substr(begin, end - begin);
    if (line.find("line ") != std::string::npos && line.find("warning") == std::string::npos)
      return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::string run_gnuplot(const std::string& script, double seconds) {
  const MemoryFile input(script), output, errors;
  const int status = wait_for(start(input, output, errors), seconds);
  if (status == -1) fail("gnuplot was still drawing after {} seconds and was stopped", seconds);
  // gnuplot takes a failed command for a reason to end, not for an error of its own, so that the
  // status says nothing.
  const std::string said = errors.text();
  if (status != 0 || tells_of_error(said))
    fail("gnuplot failed: {}", said.substr(0, kToldOfErrors));
  return output.text();
}

FigureSvg draw(const ScalingFigure& figure, const std::string& path) {
  const std::string begin = "<?xml";
  const std::string both =
      run_gnuplot(gnuplot_script(figure, Canvas::wide) + gnuplot_script(figure, Canvas::narrow) +
                  gnuplot_script(figure, Canvas::png, path + ".png") +
                  gnuplot_script(figure, Canvas::svg, path + ".svg"));
  const size_t second = both.find(begin, both.find(begin) + 1);
  if (second == std::string::npos)
    fail(
        "gnuplot drew nothing for {}; is it Debian's gnuplot-nox, with the terminals svg and "
        "pngcairo?",
        figure.name);
  return {inline_svg(both.substr(0, second), figure.name + "-w-", figure.title),
          inline_svg(both.substr(second), figure.name + "-n-", figure.title)};
}

}  // namespace skein
