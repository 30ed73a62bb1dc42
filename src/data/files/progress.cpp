#include "skein/data/files/progress.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace skein::data {
namespace {

std::string scaled(double value, const std::array<const char*, 5>& units) {
  if (value < 1000) return fmt::format("{:.0f}{}", value, units[0]);
  size_t unit = 0;
  // Not 1000: what would be rounded to 1000.0 belongs to the next unit.
  while (value >= 999.95 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f}{}", value, units[unit]);
}

std::string readable_time(double seconds) {
  const auto whole = static_cast<int64_t>(std::min(seconds, 1e9));
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 6000) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

// Where things are counted, and bytes are not.
std::string counted_line(const CorpusProgress& progress) {
  const double done = progress.documents, total = progress.documents_total;
  const double rate = progress.seconds > 0 ? done / progress.seconds : 0;
  std::string line = fmt::format("{}", progress.documents);
  if (total > 0)
    line += fmt::format(" of {} ({:.0f}%)", progress.documents_total, 100 * done / total);
  line += fmt::format(" {}, {:.0f} a second", progress.things, rate);
  if (total > 0 && rate > 0) line += fmt::format(", {} left", readable_time((total - done) / rate));
  return line;
}

}  // namespace

std::string readable_bytes(int64_t bytes) {
  return scaled(bytes, {" B", " kB", " MB", " GB", " TB"});
}

std::string progress_line(const CorpusProgress& progress) {
  if (progress.bytes_read == 0 && progress.documents > 0) return counted_line(progress);
  const double read = progress.bytes_read;
  const double rate = progress.seconds > 0 ? read / progress.seconds : 0;
  const bool known = progress.bytes_total > 0;
  std::string line = readable_bytes(progress.bytes_read);
  if (known)
    line += fmt::format(" of {} ({:.0f}%)", readable_bytes(progress.bytes_total),
                        100 * read / progress.bytes_total);
  line += fmt::format(", {:.1f} MB/s, {} {}", rate / 1e6, progress.documents, progress.things);
  if (progress.tokens > 0) {
    static constexpr std::array<const char*, 5> units{"", "k", "M", "G", "T"};
    line += fmt::format(", {} tokens", scaled(progress.tokens, units));
  }
  if (known && rate > 0)
    line += fmt::format(", {} left",
                        readable_time((progress.bytes_total - progress.bytes_read) / rate));
  return line;
}

}  // namespace skein::data
