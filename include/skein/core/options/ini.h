// The INI files of Skein, a line at a time:
//
//   [train]                 # keys below are train.key
//   steps = 10k             # a comment starts at a # after a blank, or at a # or ; that begins a
//                           # line
//   note = " # as it is\n"  # quoted: \n \r \t \" \\ stand for themselves
#pragma once

#include <string>
#include <vector>

namespace skein {

struct IniValue {
  std::string key;   // section.key
  std::string text;  // unquoted
  int line = 0;      // from 1
};

// Usage errors say origin:line, and both lines of a key that is given twice.
std::vector<IniValue> parse_ini(const std::string& text, const std::string& origin);

// The value as it must stand after `key =` to be read back unchanged: quoted where needed.
std::string ini_text(const std::string& value);

}  // namespace skein
