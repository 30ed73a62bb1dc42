#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "skein/core/error.h"
#include "skein/scaling/report/report.h"
#include "skein/scaling/report/text.h"

#include "axes.h"
#include "scaling/study/json.h"

namespace skein::scaling::report {

std::string_view page_template();  // page.html, of which CMake makes a source

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostRuns = 2000;
constexpr std::string_view kPlaceholder = ">REPORT<";

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

Json json_of(const ScalingFigure& figure) {
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

Json runs_of(const study::Study& study) {
  const Convention& convention = study.main.convention;
  Json made = Json::array();
  for (const ScalingRun& run : study.table.runs) {
    if (made.size() == kMostRuns) break;
    made.push_back({{"name", run.name},
                    {"status", run.status},
                    {"n", parameters_of(run, convention.parameters)},
                    {"d", run.tokens},
                    {"c", flops_of(run, convention)},
                    {"loss", run.loss},
                    {"d_model", run.d_model},
                    {"n_layers", run.n_layers},
                    {"lr", run.lr},
                    {"seed", run.seed}});
  }
  return made;
}

std::vector<std::string> caveats(const study::Study& study) {
  std::vector<std::string> all = study.warnings;
  for (const std::string& warning : study.table.warnings)
    if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(warning);
  return all;
}

Json json_of(const study::Study& study, const std::vector<ScalingFigure>& figures) {
  const auto& fit = study.main.parametric;
  const auto figure = [](const ScalingFigure& one) { return json_of(one); };
  return {{"study", study::json_of(study)},
          {"fitted", study.problem.empty() ? study.main.points.size() : 0},
          {"n_exponent", fit ? study::json_of(fit->n_exponent) : Json(nullptr)},
          {"conclusions", conclusions(study)},
          {"caveats", caveats(study)},
          {"runs", runs_of(study)},
          {"inks", inks()},
          {"figures", each(figures, figure)}};
}

// As text of an element <script>, which neither </script> nor <!-- may end or bend.
std::string script_text(const Json& json) {
  std::string made;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace))
    made += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return made;
}

}  // namespace

std::string report_html(const study::Study& study, const std::vector<ScalingFigure>& figures) {
  std::string page(page_template());
  const size_t at = page.find(kPlaceholder);
  SKEIN_CHECK(at != std::string::npos && page.find(kPlaceholder, at + 1) == std::string::npos);
  return page.replace(at + 1, kPlaceholder.size() - 2, script_text(json_of(study, figures)));
}

}  // namespace skein::scaling::report
