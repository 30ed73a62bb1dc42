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

// How a help is written, and how it is asked for.
enum class HelpForm {
  text,  // for a terminal: --help
  page,  // a page of the manual in roff, for man(1): --help=man
  // For other programs: --help=table. A line an option or a command, with columns divided by tabs.
  // Of an option: --section.key; what it takes (true|false, the words of a choice, NUMBER or TEXT,
  // which may be followed by ",..."); unit; default; help. Of a command: name; arguments; help.
  table
};

// Of an argument such as --help=man; a usage Error where there is no such form.
HelpForm help_form(const std::string& argument);

struct CommandHelp {
  std::string name, arguments, help;  // arguments as in "CKPT NAME...", or ""
};

// The summary, how the program is called, a line for each command, and the notes.
std::string program_help(const std::string& program, const std::string& summary,
                         const std::vector<CommandHelp>& commands, const std::string& notes,
                         HelpForm form);

// True when args begin with --help, --help=FORM, -h, help or --version, which stdout has been told
// now.
bool answered(const std::string& program, const std::vector<std::string>& args,
              const std::function<std::string(HelpForm)>& help);
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
