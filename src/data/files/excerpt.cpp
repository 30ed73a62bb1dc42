#include "skein/data/files/excerpt.h"

#include "skein/core/error.h"
#include "skein/core/options.h"

namespace skein {
namespace {

constexpr size_t kMostBytes = 200;

}  // namespace

std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) {
    list += list.empty() ? "" : ", ";
    list += excerpt(word);
    if (list.size() > kMostBytes) return list + ", ...";
  }
  return list.empty() ? "none" : list;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  if (word.size() > kMostBytes) return "";
  std::vector<std::string> short_ones;
  for (const std::string& candidate : known)
    if (candidate.size() <= kMostBytes) short_ones.push_back(candidate);
  const std::string best = nearest(word, short_ones);
  return best.empty() ? "" : fmt::format("; did you mean \"{}\"?", best);
}

}  // namespace skein
