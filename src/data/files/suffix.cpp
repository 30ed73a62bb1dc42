#include "skein/data/files/suffix.h"

#include <utility>

namespace skein::data {

std::string_view compression_in_name(std::string_view path) {
  for (const std::string_view suffix : {".gz", ".xz", ".zst", ".bz2", ".lz4"})
    if (path.ends_with(suffix)) return suffix;
  return "";
}

NamedFormat format_in_name(std::string_view path) {
  static constexpr std::pair<std::string_view, NamedFormat> kFormats[] = {
      {".csv", NamedFormat::csv},      {".tsv", NamedFormat::tsv},
      {".tab", NamedFormat::tsv},      {".jsonl", NamedFormat::jsonl},
      {".ndjson", NamedFormat::jsonl}, {".json", NamedFormat::jsonl}};
  path.remove_suffix(compression_in_name(path).size());
  for (const auto& [suffix, format] : kFormats)
    if (path.ends_with(suffix)) return format;
  return NamedFormat::other;
}

}  // namespace skein::data
