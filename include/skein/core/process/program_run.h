// Programs that this one starts.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace skein {

// Of a child; -1: ours.
struct ChildFiles {
  int input = -1, output = -1, errors = -1;
};

// Starts a program, found by PATH, in a process group of its own, with the usual meaning of signals
// and no other open files. SystemError naming it when that cannot be.
pid_t spawn(const std::vector<std::string>& words, const ChildFiles& files);

struct ProgramRun {
  bool in_time = true;  // false: it was ended by force
  int status = 0;       // as waitpid gives it
  std::string output, errors;
};

// Runs a program on `input` to its end, for `seconds` at most. SystemError as above.
ProgramRun run_program(const std::vector<std::string>& words, const std::string& input,
                       double seconds);

}  // namespace skein
