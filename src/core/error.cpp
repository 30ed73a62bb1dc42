#include "skein/core/error.h"

#include <cerrno>

namespace skein {

bool names_nothing(int number) {
  return number == ENOENT || number == ENOTDIR || number == ENAMETOOLONG;
}

void detail::check_failed(const char* expression, const std::string& values, const char* file,
                          int line) {
  throw Error(ExitCode::internal,
              fmt::format("internal check failed: {}{}{} ({}:{}). This is a bug in Skein; please "
                          "report it with the command and config.",
                          expression, values.empty() ? "" : ": ", values, file, line));
}

}  // namespace skein
