// The host that this process runs on.
#pragma once

#include <string>

namespace skein {

// For messages and names of files; "unnamed-host" where the system tells none.
std::string host_name();

}  // namespace skein
