// Checkpoints looked at from outside a run: what `skein-inspect` does.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "skein/core/options/program.h"

namespace skein::checkpoint {

// Carries out `words` (a command and its arguments) and writes to `out`. Returns the exit code: 0;
// 1 when `diff` finds a difference; 2 when `verify` finds damage. --help among the arguments asks
// what the command does. Everything else that goes wrong is an Error, and an unknown command is one
// that lists the known ones.
int inspect(const std::vector<std::string>& words, std::ostream& out);

std::string inspect_help(HelpForm form);

}  // namespace skein::checkpoint
