// What all programs of Skein have in common: how they are asked for help and their version, and how
// they end.
//
//   int main(int argc, char** argv) {
//     const std::vector<std::string> args(argv + 1, argv + argc);
//     return run_program([&] { return answered("skein-x", args, help) ? 0 : run(args); });
//   }
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "skein/core/error.h"
#include "skein/core/options/options.h"

namespace skein {

struct CommandHelp {
  std::string name, arguments, help;  // arguments as in "CKPT NAME...", or ""
};

// The summary, how the program is called, a line for each command, and the notes.
std::string program_help(const std::string& program, const std::string& summary,
                         const std::vector<CommandHelp>& commands, const std::string& notes);

// True when args begin with --help, -h, help or --version, which stdout has been told now.
bool answered(const std::string& program, const std::vector<std::string>& args,
              const std::function<std::string()>& help);
// Parses args, words among them. False when they asked for the help or the resolved options, which
// stdout has been told now.
bool parsed(Options& options, const std::vector<std::string>& args);
// A usage error: args begin with no command, or with one that is not known.
[[noreturn]] void refuse_command(const std::string& program, const std::vector<std::string>& args,
                                 const std::vector<CommandHelp>& known);

// What body returns, once stdout has taken all that was written to it. What it throws becomes a
// line of the log and the exit code that `end` returns.
using ProgramEnd = std::function<int(ExitCode code, const std::string& message)>;
int run_program(const std::function<int()>& body, const ProgramEnd& end = {});

}  // namespace skein
