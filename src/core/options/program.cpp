#include "skein/core/options/program.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/core/version.h"

#include "option_table.h"

namespace skein {
namespace {

int end_with_line(ExitCode code, const std::string& message) {
  log::write(log::Level::error, message);
  return static_cast<int>(code);
}

int flushed(int code) {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    fail("cannot write to stdout: {}", errno ? std::strerror(errno) : "an earlier write failed");
  return code;
}

// Program, version and revision; then compiler, kind of build, MPI, HDF5, CUDA.
std::string version_text(const std::string& program) {
  return fmt::format(
      "{} {} ({})\n{}, {}, {}, HDF5 {}, {}\n", program, kVersion, kRevision, kCompiler, kBuildType,
      kMpiVersion, kHdf5Version,
      kCudaVersion.empty() ? "no GPU kernels" : fmt::format("CUDA {}", kCudaVersion));
}

}  // namespace

std::string program_help(const std::string& program, const std::string& summary,
                         const std::vector<CommandHelp>& commands, const std::string& notes) {
  size_t name_width = std::string("--version").size(), width = 0;
  for (const CommandHelp& command : commands) {
    name_width = std::max(name_width, command.name.size());
    width = std::max(width, command.arguments.size());
  }
  std::string text =
      fmt::format("{}\n\nUsage: {} COMMAND [options] [arguments]\n\n", summary, program);
  const auto row = [&](const CommandHelp& line) {
    text += fmt::format("  {:<{}}  {}\n",
                        fmt::format("{:<{}} {:<{}}", line.name, name_width, line.arguments, width),
                        name_width + 1 + width, line.help);
  };
  for (const CommandHelp& command : commands) row(command);
  row({"--help", "",
       fmt::format("write this and stop; `{} COMMAND --help` is about a command", program)});
  row({"--version", "", "write what this build is made of, and stop"});
  return text + (notes.empty() ? "" : "\n" + notes);
}

bool answered(const std::string& program, const std::vector<std::string>& args,
              const std::function<std::string()>& help) {
  const std::string first = args.empty() ? "" : args.front();
  const bool version = first == "--version";
  if (version || first == "--help" || first == "-h" || first == "help")
    return std::fputs((version ? version_text(program) : help()).c_str(), stdout), true;
  return false;
}

bool parsed(Options& options, const std::vector<std::string>& args) {
  const Options::Outcome outcome = options.parse(args, true);
  if (outcome == Options::Outcome::help) std::fputs(options.help().c_str(), stdout);
  if (outcome == Options::Outcome::print_config) std::fputs(options.resolved().c_str(), stdout);
  return outcome == Options::Outcome::run;
}

void refuse_command(const std::string& program, const std::vector<std::string>& args,
                    const std::vector<CommandHelp>& known) {
  require(!args.empty(), "no command was given; `{} --help` lists all", program);
  std::vector<std::string> names;
  for (const CommandHelp& command : known) names.push_back(command.name);
  fail_usage("unknown command '{}'{}; `{} --help` lists all", args.front(),
             suggestion(args.front(), names), program);
}

int run_program(const std::function<int()>& body, const ProgramEnd& end) {
  const ProgramEnd& told = end ? end : end_with_line;
  try {
    return flushed(body());
  } catch (const Error& error) {
    return told(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return told(ExitCode::failure, "out of memory; give this less to do at a time, or more memory");
  } catch (const std::exception& error) {
    return told(ExitCode::internal,
                fmt::format("internal error: {}; please report it with the command",
                            json_fault(error.what())));
  }
}

}  // namespace skein
