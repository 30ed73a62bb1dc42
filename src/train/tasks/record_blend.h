// Stores of records that tasks blend by weight, such as data::ImageBlend: what they have in common.
// Internal to tasks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/data/columns/records.h"
#include "skein/data/stores/data_file.h"
#include "skein/train/config.h"

namespace skein::train {

// Adds the store of an entry, "path" or "weight:path".
template <class Blend>
void add_store(const std::string& text, Blend& to) {
  const data::DataEntry entry = data::data_entry(text);
  to.parts.emplace_back(std::make_shared<const data::Records>(entry.path));
  to.weights.push_back(entry.weight);
}

// By the option that names them.
template <class Blend>
std::vector<data::DataFile> files_of(const std::string& option, const Blend& blend) {
  std::vector<data::DataFile> made;
  for (const auto& part : blend.parts)
    made.push_back(data::store_file(option, part.records().name(), part.records().bytes(),
                                    part.records().fingerprint(), part.shared()));
  return made;
}

// Of what the stores hold, in their order.
template <class Blend>
uint32_t checksum_of(const Blend& blend) {
  uint64_t sum = 0;
  for (const auto& part : blend.parts) sum = sum * 31 + part.records().fingerprint();
  return static_cast<uint32_t>(sum ^ sum >> 32);
}

}  // namespace skein::train
