// Options of one part of a program, as a checkpoint has them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/train/run_state.h"

namespace skein::train {

// The options whose names begin with one of `sections`, such as "model.". A usage error naming
// `origin` for one that is unknown, or whose value is none.
template <class Config>
Config stored_section(const RunState& state, const std::vector<std::string>& sections,
                      const std::string& origin) {
  Config config;
  Options options("", "");
  bind(options, config);
  for (const auto& [key, value] : state.config)
    if (std::ranges::any_of(sections, [&](const auto& one) { return key.starts_with(one); }))
      options.set(key, value, origin);
  return config;
}

}  // namespace skein::train
