// Small files that other commands wrote.
#pragma once

#include <string>

namespace skein::scaling {

// All of it. Usage errors where there is none, or it is no regular file or has more than 256 MiB;
// wanted: what to give instead.
std::string json_file_text(const std::string& path, const std::string& wanted);

}  // namespace skein::scaling
