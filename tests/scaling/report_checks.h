// What tests of the report look for.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "skein/core/json.h"
#include "skein/plot/figure.h"

namespace skein::test {

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline int64_t count_of(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

// What a page holds for its script, and nothing in it may end.
inline std::string data_in(const std::string& page) {
  const std::string begin = "<script id=\"report\" type=\"application/json\">";
  const size_t at = page.find(begin);
  if (at == std::string::npos) throw std::runtime_error("the page holds no JSON");
  const size_t from = at + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

inline nlohmann::json json_in(const std::string& page) {
  return nlohmann::json::parse(data_in(page));
}

inline const plot::Figure& named(const std::vector<plot::Figure>& figures,
                                 const std::string& name) {
  return *std::find_if(figures.begin(), figures.end(),
                       [&](const plot::Figure& one) { return one.name == name; });
}

inline const plot::Series& titled(const plot::Panel& panel, const std::string& title) {
  const auto at = std::find_if(panel.series.begin(), panel.series.end(),
                               [&](const plot::Series& one) { return one.title == title; });
  if (at == panel.series.end()) throw std::runtime_error("no series " + title);
  return *at;
}

}  // namespace skein::test
