#include "skein/core/repeated_warnings.h"

#include <algorithm>

#include "skein/core/log.h"

namespace skein {

void RepeatedWarnings::tell(const std::string& kind, const std::string& text) {
  auto found = std::ranges::find_if(counts_, [&](const auto& one) { return one.first == kind; });
  if (found == counts_.end()) found = counts_.insert(found, {kind, 0});
  if (++found->second > kTold) return;
  const bool last = found->second == kTold;
  log::warn("{}{}", text,
            last ? "; further ones of this kind are counted and told at the end" : "");
}

void RepeatedWarnings::finish() {
  for (const auto& [kind, count] : counts_)
    if (count > kTold)
      log::warn("{} warnings of {}, of which {} are not shown above", count, kind, count - kTold);
  counts_.clear();
}

}  // namespace skein
