#include "left_out.h"

#include <fmt/ranges.h>
#include <map>
#include <vector>

namespace skein {
namespace {

constexpr size_t kMostNames = 20;

}  // namespace

std::string left_out_text(const ScalingTable& table, size_t most_lines) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const ScalingRun& run : table.runs)
    if (run.status != "done")
      reasons[fmt::format("{}{}{}", run.status, run.reason.empty() ? "" : ": ", run.reason)]
          .push_back(run.name);
  std::string text;
  size_t lines = 0;
  for (auto& [reason, names] : reasons) {
    if (lines++ == most_lines)
      return text + fmt::format("\n  left out for {} more reasons", reasons.size() - most_lines);
    const size_t count = names.size();
    if (count > kMostNames) names.resize(kMostNames);
    text +=
        fmt::format("\n  left out, {}: {} {} ({}{})", reason, count, count == 1 ? "run" : "runs",
                    fmt::join(names, ", "), count > kMostNames ? ", ..." : "");
  }
  return text;
}

}  // namespace skein
