#include "skein/core/host.h"

#include <array>
#include <climits>
#include <unistd.h>

namespace skein {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), HOST_NAME_MAX) == 0 && name[0] != '\0' ? name.data()
                                                                           : "unnamed-host";
}

}  // namespace skein
