// What the name of a file says of its contents.
#pragma once

#include <string_view>

namespace skein {

enum class NamedFormat { other, csv, tsv, jsonl };

// .csv; .tsv and .tab; .jsonl, .ndjson and .json; also before .gz, .xz and .zst.
NamedFormat format_in_name(std::string_view path);

// Whether the name ends in .gz, .xz or .zst, and as which; "" where it does not.
std::string_view compression_in_name(std::string_view path);

}  // namespace skein
