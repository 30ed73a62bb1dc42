#include "skein/plot/gnuplot.h"

#include <cerrno>
#include <sstream>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/process/program_run.h"

namespace skein::plot {
namespace {

constexpr size_t kToldOfErrors = 600;

bool tells_of_error(const std::string& said) {
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);)
    if (line.find("line ") != std::string::npos && line.find("warning") == std::string::npos)
      return true;
  return false;
}

ProgramRun drawn(const std::string& script, double seconds) {
  try {
    return run_program({"gnuplot", "-d"}, script, seconds);
  } catch (const SystemError& error) {
    if (error.number() != ENOENT) throw;
    fail("gnuplot, which draws the plots, is not installed; install Debian's package gnuplot-nox");
  }
}

}  // namespace

void run_gnuplot(const std::string& script, double seconds) {
  const ProgramRun run = drawn(script, seconds);
  if (!run.in_time) fail("gnuplot was still drawing after {} seconds and was stopped", seconds);
  // gnuplot takes a failed command for a reason to end, not for an error of its own, so that the
  // status says nothing.
  if (run.status != 0 || tells_of_error(run.errors))
    fail("gnuplot failed: {}", run.errors.substr(0, kToldOfErrors));
}

}  // namespace skein::plot
