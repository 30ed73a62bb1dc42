// Indices of safetensors in several files: every file that one names lies beside it.
#include "skein/formats/safetensors.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile file("index.json");
  file.write(input);
  for (const auto& [tensor, name] : skein::formats::read_safetensors_index(file.path()))
    if (!skein::formats::is_plain_name(name) || std::filesystem::path(name).has_parent_path())
      std::abort();
}
