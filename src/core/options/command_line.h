// Flags, taken apart but not yet believed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "option_table.h"

namespace skein {

struct CommandLine {
  bool help = false, print_config = false;
  std::vector<std::string> configs, words;
  std::vector<std::pair<std::string, std::string>> flags;  // key and text, in order
};

// Usage errors for unknown flags and for flags without their value.
CommandLine read_command_line(const std::vector<std::string>& args,
                              const std::vector<OptionEntry>& entries, const std::string& program);

// Known keys near a wrong one, with or without its section.
std::string key_suggestion(const std::string& key, const std::vector<OptionEntry>& entries);

}  // namespace skein
