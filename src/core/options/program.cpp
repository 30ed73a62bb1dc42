#include "skein/core/options/program.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/core/version.h"

#include "manual.h"
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

std::string usage_of(const std::string& program) {
  return program + " COMMAND [options] [arguments]";
}

// The commands, and what stands in their place.
std::vector<CommandHelp> rows_of(const std::string& program, std::vector<CommandHelp> commands) {
  commands.push_back(
      {"--help", "",
       fmt::format("write this and stop; `{} COMMAND --help` is about a command", program)});
  commands.push_back({"--version", "", "write what this build is made of, and stop"});
  return commands;
}

std::string commands_text(const std::string& program, const std::string& summary,
                          const std::vector<CommandHelp>& commands, const std::string& notes) {
  size_t name_width = std::string("--version").size(), width = 0;
  for (const CommandHelp& command : commands) {
    name_width = std::max(name_width, command.name.size());
    width = std::max(width, command.arguments.size());
  }
  std::string text = fmt::format("{}\n\nUsage: {}\n\n", summary, usage_of(program));
  for (const CommandHelp& line : rows_of(program, commands))
    text += fmt::format("  {:<{}}  {}\n",
                        fmt::format("{:<{}} {:<{}}", line.name, name_width, line.arguments, width),
                        name_width + 1 + width, line.help);
  return text + (notes.empty() ? "" : "\n" + notes);
}

std::string commands_page(const std::string& program, const std::string& summary,
                          const std::vector<CommandHelp>& commands, const std::string& notes) {
  ManualPage page(program, summary);
  page.heading("SYNOPSIS");
  page.paragraph(usage_of(program));
  page.heading("DESCRIPTION");
  page.paragraph(summary);
  page.heading("COMMANDS");
  for (const CommandHelp& line : rows_of(program, commands))
    page.item(line.arguments.empty() ? line.name : line.name + " " + line.arguments, line.help);
  if (!notes.empty()) {
    page.heading("NOTES");
    page.paragraph(notes);
  }
  return std::move(page).finished();
}

std::string commands_table(const std::vector<CommandHelp>& commands) {
  std::string table;
  for (const CommandHelp& command : commands)
    table += fmt::format("{}\t{}\t{}\n", command.name, command.arguments, command.help);
  return table;
}

}  // namespace

HelpForm help_form(const std::string& argument) {
  const size_t equals = argument.find('=');
  const std::string form = equals == std::string::npos ? "text" : argument.substr(equals + 1);
  if (form == "text") return HelpForm::text;
  if (form == "man") return HelpForm::page;
  require(form == "table", "{}: one of text, man, table was expected", argument);
  return HelpForm::table;
}

std::string program_help(const std::string& program, const std::string& summary,
                         const std::vector<CommandHelp>& commands, const std::string& notes,
                         HelpForm form) {
  switch (form) {
    case HelpForm::text: return commands_text(program, summary, commands, notes);
    case HelpForm::page: return commands_page(program, summary, commands, notes);
    case HelpForm::table: return commands_table(commands);
  }
  return "";
}

bool answered(const std::string& program, const std::vector<std::string>& args,
              const std::function<std::string(HelpForm)>& help) {
  const std::string first = args.empty() ? "" : args.front();
  const bool version = first == "--version";
  if (!version && first != "-h" && first != "help" && first != "--help" &&
      !first.starts_with("--help="))
    return false;
  const std::string text = version ? version_text(program) : help(help_form(first));
  std::fputs(text.c_str(), stdout);
  return true;
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
