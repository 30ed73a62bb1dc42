// Options of one part of a program, as a checkpoint has them.
#pragma once

#include <string>

#include "skein/core/options/options.h"
#include "skein/train/run_state.h"

namespace skein::train {

// The options whose names begin with `section`, such as "model.". A usage error naming `origin` for
// one that is unknown, or whose value is none.
template <class Config>
Config stored_section(const RunState& state, const std::string& section,
                      const std::string& origin) {
  Config config;
  Options options("", "");
  bind(options, config);
  for (const auto& [key, value] : state.config)
    if (key.starts_with(section)) options.set(key, value, origin);
  return config;
}

}  // namespace skein::train
