// Run folders as programs leave them, written by hand.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "data/data_fixtures.h"

namespace skein::test {

// A folder NAME in `scratch` with these files; "" leaves one out.
inline std::string run_folder(const Scratch& scratch, const std::string& name,
                              const std::string& metrics, const std::string& config = "") {
  const std::string folder = scratch.file(name);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/metrics.jsonl") << metrics;
  if (!config.empty()) std::ofstream(folder + "/config.ini") << config;
  return folder;
}

}  // namespace skein::test
