#include <algorithm>
#include <array>

#include "skein/core/error.h"
#include "skein/scaling/report/gnuplot.h"
#include "skein/scaling/report/text.h"

#include "gnuplot_inks.h"

namespace skein {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  std::string made;
  size_t begin = 0;
  for (size_t at; (at = text.find(from, begin)) != std::string::npos; begin = at + from.size())
    made.append(text, begin, at - begin).append(to);
  text = made.append(text, begin);
}

// gnuplot writes "rgb(240, 238,   3)" and "rgb(240,238,3)".
void name_inks(std::string& text) {
  for (int i = 0; i < kInks; ++i) {
    const std::string variable = "var(--ink-" + ink_name(static_cast<Ink>(i)) + ")";
    replace_all(text, fmt::format("rgb({:3}, {:3}, {:3})", kCodeRed, kCodeGreen, i), variable);
    replace_all(text, fmt::format("rgb({},{},{})", kCodeRed, kCodeGreen, i), variable);
  }
}

// Groups that hold nothing: gnuplot opens one whenever it sets a pen.
std::string without_empty_groups(const std::string& text) {
  std::string made;
  size_t begin = 0;
  for (size_t at; (at = text.find("<g fill=\"none\"", begin)) != std::string::npos;) {
    const size_t end = text.find('>', at);
    const bool empty = end != std::string::npos && text.compare(end + 1, 5, "\n</g>") == 0;
    made.append(text, begin, (empty ? at : end + 1) - begin);
    begin = end + 1 + (empty ? 5 : 0);
  }
  return made.append(text, begin);
}

// The title of a series without one is its number, which would show under the pointer.
void drop_names(std::string& text) {
  for (size_t at; (at = text.find("<title>gnuplot_plot_")) != std::string::npos;)
    text.erase(at, text.find("</title>", at) + 8 - at);
  for (size_t at; (at = text.find(" id=\"gnuplot_plot_")) != std::string::npos;)
    text.erase(at, text.find('"', at + 5) + 1 - at);
}

// The marks that are used here and what these use.
std::string definitions(const std::string& svg) {
  std::string made;
  for (const char* mark : {"gpPt1'", "gpPt3'", "gpPt5'", "gpPt6'", "gpPt11'", "gpPt12'"}) {
    const size_t id = svg.find(std::string("id='") + mark);
    SKEIN_CHECK(id != std::string::npos);
    const size_t begin = svg.rfind('<', id);
    made += svg.substr(begin, svg.find('>', id) + 1 - begin);
  }
  return made;
}

std::string attribute(const std::string& svg, const std::string& name) {
  const size_t begin = svg.find(name + "=\"");
  SKEIN_CHECK(begin != std::string::npos);
  const size_t value = begin + name.size() + 2;
  return svg.substr(value, svg.find('"', value) - value);
}

}  // namespace

std::string inline_svg(const std::string& gnuplot_svg, const std::string& prefix,
                       const std::string& description) {
  const size_t begin = gnuplot_svg.find("</defs>"), end = gnuplot_svg.rfind("</svg>");
  SKEIN_CHECK(begin != std::string::npos && end != std::string::npos);
  std::string body = "<defs>" + definitions(gnuplot_svg) + "</defs>\n<g>" +
                     without_empty_groups(gnuplot_svg.substr(begin + 7, end - begin - 7));
  for (const char* colour :
       {" color=\"black\"", " color=\"white\"", " font-family=\"sans-serif\"", "<tspan > ", "\t"})
    replace_all(body, colour, colour[1] == 't' ? "<tspan>" : "");
  name_inks(body);
  drop_names(body);
  replace_all(body, "'gpPt", "'" + prefix + "gpPt");
  replace_all(body, "'#gpPt", "'#" + prefix + "gpPt");
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
         "viewBox=\"" +
         attribute(gnuplot_svg, "viewBox") + "\" role=\"img\" aria-label=\"" + html(description) +
         "\">" + body + "</svg>";
}

}  // namespace skein
