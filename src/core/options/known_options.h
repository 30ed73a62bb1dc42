// The options that some command or program has. A file or the environment may hold them for another
// command, which leaves them alone.
#pragma once

#include <string>
#include <vector>

namespace skein {

// Such as "train".
bool is_known_section(const std::string& name);
// Such as "train.steps".
bool is_known_option(const std::string& key);
std::vector<std::string> known_options();

}  // namespace skein
