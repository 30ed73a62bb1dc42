#include "skein/data/excerpt.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/options.h"
#include "skein/text/split.h"
#include "skein/text/utf8.h"

namespace skein {
namespace {

constexpr size_t kMostBytes = 200;

bool is_control(char byte) { return byte != '\t' && (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F); }

std::string visible(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::string_view good = text.substr(0, valid_bytes(text));
    const auto odd = std::find_if(good.begin(), good.end(), is_control);
    shown.append(good.begin(), odd);
    text.remove_prefix(static_cast<size_t>(odd - good.begin()));
    if (text.empty()) break;
    shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(text.front()));
    text.remove_prefix(1);
  }
  return shown;
}

}  // namespace

std::string excerpt(std::string_view text) {
  if (text.size() <= kMostBytes) return visible(text);
  return visible(text.substr(0, character_cut(text, kMostBytes))) + "...";
}

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
