#include "skein/plot/page.h"

#include <cstdlib>

#include "skein/core/error.h"
#include "skein/plot/text.h"

#include "axes.h"

namespace skein::plot {

std::string_view page_template();  // page.html, of which CMake makes a source

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMarks[] = {"line", "dashes", "dots", "rings", "diamonds", "band"};

// To more digits than a screen shows.
double rounded(double value) { return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr); }

Json json_of(const Sample& one, Mark mark) {
  if (mark == Mark::band) return Json::array({rounded(one.x), rounded(one.low), rounded(one.high)});
  Json point = Json::array({rounded(one.x), rounded(one.y)});
  if (one.named) point.push_back(shortened(one.name));
  return point;
}

// A list of what `of` makes of each.
template <class Items, class Of>
Json each(const Items& items, const Of& of) {
  Json made = Json::array();
  for (const auto& one : items) made.push_back(of(one));
  return made;
}

Json json_of(const Series& series) {
  const auto point = [&](const Sample& one) { return json_of(one, series.mark); };
  return {{"title", series.title},
          {"ink", colours_of(series.ink).name},
          {"mark", kMarks[static_cast<size_t>(series.mark)]},
          {"weight", series.weight},
          {"points", each(drawn_samples(series), point)}};
}

Json json_of(const Axis& axis, const AxisScale& scale) {
  const auto tick = [](const Tick& one) { return Json::array({one.at, one.text}); };
  return {{"label", axis.label},
          {"logarithmic", axis.logarithmic},
          {"low", scale.low},
          {"high", scale.high},
          {"ticks", each(scale.ticks, tick)}};
}

Json json_of(const Figure& figure) {
  const auto series = [](const Series& one) { return json_of(one); };
  const auto panel = [&](const Panel& one) -> Json {
    return {{"title", one.title},
            {"x", json_of(one.x, x_scale(figure, one))},
            {"y", json_of(one.y, y_scale(figure, one))},
            {"series", each(one.series, series)}};
  };
  return {{"name", figure.name},       {"title", figure.title},
          {"caption", figure.caption}, {"convention", figure.convention},
          {"problem", figure.problem}, {"panels", each(figure.panels, panel)}};
}

Json inks() {
  Json made = Json::object();
  for (int i = 0; i < kInks; ++i) {
    const InkColours& ink = colours_of(static_cast<Ink>(i));
    made[ink.name] = Json::array({ink.light, ink.dark});
  }
  return made;
}

// As text of an element <script>, which neither </script> nor <!-- may end or bend.
std::string script_text(const Json& json) {
  std::string made;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace))
    made += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return made;
}

// The one place of `mark` gets `text`.
void fill(std::string& page, std::string_view mark, std::string_view text) {
  const size_t at = page.find(mark);
  SKEIN_CHECK(at != std::string::npos && page.find(mark, at + 1) == std::string::npos);
  page.replace(at, mark.size(), text);
}

}  // namespace

Json figures_json(const std::vector<Figure>& figures) {
  return each(figures, [](const Figure& one) { return json_of(one); });
}

std::string page(std::string_view title, std::string_view body, Json report, bool pictures) {
  report["inks"] = inks();
  report["pictures"] = pictures;
  std::string made(page_template());
  fill(made, "TITLE", title);
  fill(made, "BODY", body);
  fill(made, ">REPORT<", ">" + script_text(report) + "<");
  return made;
}

}  // namespace skein::plot
