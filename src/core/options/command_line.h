// Flags, taken apart but not yet believed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "option_table.h"

namespace skein {

struct CommandLine {
  bool help = false, print_config = false;
  HelpForm form = HelpForm::text;  // of the help
  std::vector<std::string> configs, words;
  std::vector<std::pair<std::string, std::string>> flags;  // key and text, in order
};

// Usage errors for unknown flags and for flags without their value.
CommandLine read_command_line(const std::vector<std::string>& args,
                              const std::vector<OptionEntry>& entries, const std::string& program);

// A flag without a section; `alone`: the value of the bare flag, "" where it needs one.
struct ShortFlag {
  const char *flag, *key, *alone;
};
// Those whose options are there.
std::vector<ShortFlag> short_flags(const std::vector<OptionEntry>& entries);

// Known keys near a wrong one, with or without its section.
std::string key_suggestion(const std::string& key, const std::vector<OptionEntry>& entries);

}  // namespace skein
