// What the name of a file says of its contents.
#pragma once

#include <string_view>

namespace skein::data {

enum class NamedFormat { other, csv, tsv, jsonl };

// .csv; .tsv and .tab; .jsonl, .ndjson and .json; also before .gz, .xz, .zst, .bz2 and .lz4.
NamedFormat format_in_name(std::string_view path);

// Whether the name ends in one of these five, and as which; "" where it does not.
std::string_view compression_in_name(std::string_view path);

}  // namespace skein::data
