// Numbers with their names, in the order in which they are told: of a step, of an evaluation.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skein {

using NamedValues = std::vector<std::pair<std::string, double>>;

// The value of that name; 0 where there is none.
inline double value_named(const NamedValues& values, std::string_view name) {
  for (const auto& [known, value] : values)
    if (known == name) return value;
  return 0;
}

}  // namespace skein
