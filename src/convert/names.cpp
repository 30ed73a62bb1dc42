#include "skein/convert/names.h"

#include <algorithm>

#include "skein/checkpoint/reshard.h"
#include "skein/core/error.h"

#include "foreign_family.h"

namespace skein::convert {
namespace {

// "h.*.attn.bias" of "h.12.attn.bias".
bool matches(const std::string& name, const std::string& pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const size_t behind = name.find_first_not_of("0123456789", star);
  return behind != star && behind != std::string::npos &&
         name.substr(behind) == pattern.substr(star + 1);
}

}  // namespace

int64_t OurTensor::size() const { return checkpoint::element_count(shape); }

int64_t ForeignTensor::size() const { return checkpoint::element_count(shape); }

std::string ForeignTensor::line(const std::string& file_name, const std::string& type) const {
  std::vector<std::string> ours;
  for (const OurTensor& part : parts) ours.push_back(part.name);
  return fmt::format("{:<8} {:<14} {}{} = {}\n", type, checkpoint::shape_text(shape), file_name,
                     transposed ? " transposed" : "", fmt::join(ours, ", "));
}

bool NameMap::is_buffer(const std::string& name) const {
  return std::any_of(buffers.begin(), buffers.end(), [&](const std::string& pattern) {
    return matches(name, pattern) ||
           (pattern.starts_with(prefix) && matches(name, pattern.substr(prefix.size())));
  });
}

std::vector<std::string> NameMap::candidates(const std::string& name) const {
  std::vector<std::string> all{name};
  if (name.starts_with(prefix)) all.push_back(name.substr(prefix.size()));
  for (const auto& [now, once] : {std::pair{"LayerNorm.weight", "LayerNorm.gamma"},
                                  std::pair{"LayerNorm.bias", "LayerNorm.beta"}})
    for (size_t i = 0, count = all.size(); i < count; ++i)
      if (all[i].ends_with(now))
        all.push_back(all[i].substr(0, all[i].size() - std::string(now).size()) + once);
  return all;
}

NameMap huggingface_names(const ModelConfig& config, const std::string& type) {
  return family_of(config, type).names(config);
}

}  // namespace skein::convert
