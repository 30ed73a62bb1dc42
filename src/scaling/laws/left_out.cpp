#include "left_out.h"

#include <map>
#include <vector>

#include "text_table.h"

namespace skein::scaling {

std::string left_out_text(const ScalingTable& table, size_t most_lines) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const ScalingRun& run : table.runs)
    if (run.status != "done")
      reasons[fmt::format("{}{}{}", run.status, run.reason.empty() ? "" : ": ", run.reason)]
          .push_back(run.name);
  std::string text;
  size_t lines = 0;
  for (const auto& [reason, names] : reasons) {
    if (lines++ == most_lines)
      return text + fmt::format("\n  left out for {} more reasons", reasons.size() - most_lines);
    text += fmt::format("\n  left out, {}: {} {} ({})", reason, names.size(),
                        names.size() == 1 ? "run" : "runs", first_of(names, 20));
  }
  return text;
}

}  // namespace skein::scaling
