#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "skein/core/error.h"
#include "skein/core/version.h"
#include "skein/scaling/report/gnuplot.h"
#include "skein/scaling/report/text.h"

#include "style.h"
#include "tables.h"

namespace skein {
namespace {

std::string swatch(const Series& series) {
  const std::string ink = "var(--ink-" + ink_name(series.ink) + ")";
  const auto stroke = [&](const char* more) {
    return fmt::format("<path d=\"M1 6H21\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\"{}/>",
                       ink, more);
  };
  switch (series.mark) {
    case Mark::line: return stroke("");
    case Mark::dashes: return stroke(" stroke-dasharray=\"5 3\"");
    case Mark::dots: return fmt::format("<circle cx=\"11\" cy=\"6\" r=\"4\" fill=\"{}\"/>", ink);
    case Mark::rings:
      return fmt::format(
          "<circle cx=\"11\" cy=\"6\" r=\"4\" fill=\"none\" stroke-width=\"1.5\" stroke=\"{}\"/>",
          ink);
    case Mark::diamonds: return fmt::format("<path d=\"M11 1L16 6L11 11L6 6Z\" fill=\"{}\"/>", ink);
    case Mark::crosses:
      return fmt::format("<path d=\"M7 2L15 10M15 2L7 10\" stroke-width=\"1.5\" stroke=\"{}\"/>",
                         ink);
    case Mark::band:
      return fmt::format(
          "<rect x=\"1\" y=\"1\" width=\"20\" height=\"10\" rx=\"2\" fill-opacity=\".25\" "
          "fill=\"{}\"/>",
          ink);
  }
  return {};
}

std::string legend(const ScalingFigure& figure) {
  std::vector<const Series*> shown;
  for (const Panel& panel : figure.panels)
    for (const Series& series : panel.series) {
      const auto same = [&](const Series* one) {
        return one->title == series.title && one->ink == series.ink && one->mark == series.mark;
      };
      if (!series.title.empty() && !series.samples.empty() &&
          std::none_of(shown.begin(), shown.end(), same))
        shown.push_back(&series);
    }
  std::string made = "<ul class=\"legend\">";
  for (const Series* series : shown)
    made += "<li><svg viewBox=\"0 0 22 12\" aria-hidden=\"true\">" + swatch(*series) + "</svg>" +
            html(series->title) + "</li>";
  return made + "</ul>\n";
}

std::string figure_html(const ScalingFigure& figure, const FigureSvg& svg) {
  return fmt::format(
      "<figure id=\"figure-{0}\"><h3>{1}</h3>\n<div class=\"plot wide\">{2}</div>\n<div "
      "class=\"plot narrow\">{3}</div>\n{4}<figcaption>{5}</figcaption>\n"
      "<p class=\"files\"><a href=\"{0}.png\">PNG</a><a href=\"{0}.svg\">SVG</a><a "
      "href=\"{0}.csv\">CSV of what is drawn</a></p></figure>\n",
      figure.name, html(figure.title), svg.wide, svg.narrow, legend(figure),
      html_formula(figure.caption));
}

std::string left_out(const std::vector<ScalingFigure>& figures) {
  std::string made;
  for (const ScalingFigure& figure : figures)
    if (!figure.problem.empty())
      made += fmt::format("<li><b>{}.</b> {}</li>\n", html(figure.title), html(figure.problem));
  return made.empty()
             ? ""
             : "<section class=\"left-out\"><h3>Plots that these data cannot give</h3><ul>\n" +
                   made + "</ul></section>\n";
}

std::string tile(const std::string& what, const Interval& interval, NumberText text, int digits) {
  const bool banded = std::isfinite(interval.low) && std::isfinite(interval.high);
  return fmt::format("<div class=\"tile\"><span>{}</span><b>{}</b><span>{}</span></div>\n",
                     html(what), html(text(interval.value, digits)),
                     banded
                         ? html(text(interval.low, digits) + " to " + text(interval.high, digits))
                         : "no interval");
}

std::string tiles(const Study& study) {
  if (!study.target) return {};
  const TargetPrediction& target = *study.target;
  const bool parametric = std::isfinite(target.n.value);
  if (!parametric && !std::isfinite(target.isoflop_n.value)) return {};
  const Interval& size = parametric ? target.n : target.isoflop_n;
  std::string made =
      fmt::format("<p class=\"note\">For a budget of {} FLOPs, {}{}:</p>\n<div class=\"tiles\">\n",
                  html(power_text(target.flops)),
                  parametric ? "by the parametric law" : "by parabolas at equal compute",
                  std::isfinite(size.low) ? ", with 95% intervals" : "");
  made += tile("parameters", size, count_text, 3) +
          tile("training tokens", parametric ? target.d : target.isoflop_d, count_text, 3);
  if (parametric) made += tile("tokens per parameter", target.ratio, number_text, 3);
  const Interval& loss = parametric ? target.loss : target.isoflop_loss;
  if (std::isfinite(loss.value)) made += tile("loss, nats a token", loss, number_text, 4);
  return made + "</div>\n";
}

std::string list(const std::vector<std::string>& sentences) {
  std::string made;
  for (const std::string& sentence : sentences) made += "<li>" + html_formula(sentence) + "</li>\n";
  return made;
}

// What lists many cases is folded behind what it says of them.
std::string caveat(const std::string& text) {
  constexpr size_t kLong = 240;
  const size_t colon = text.find(": ");
  if (text.size() < kLong || colon == std::string::npos)
    return "<li>" + html_formula(text) + "</li>\n";
  return fmt::format("<li><details><summary>{}</summary>{}</details></li>\n",
                     html_formula(text.substr(0, colon)), html_formula(text.substr(colon + 2)));
}

std::string caveats(const Study& study) {
  std::vector<std::string> all = study.warnings;
  for (const std::string& warning : study.table.warnings)
    if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(warning);
  if (all.empty()) return {};
  std::string made = "<div class=\"caveats\" id=\"caveats\"><h3>Caveats</h3><ul>\n";
  for (const std::string& one : all) made += caveat(one);
  return made + "</ul></div>\n";
}

std::string head(const Study& study) {
  const std::string title = "Scaling laws of " + html(study.table.path);
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
         "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         title + "</title>\n<style>\n" + report_style() +
         "</style></head>\n<body>\n<header><h1>Scaling laws</h1><button id=\"theme\" "
         "type=\"button\" aria-label=\"Other colours\">☾</button>\n" +
         fmt::format("<p class=\"source\">{} runs of <b>{}</b>, {} fitted. Counted here: {}.</p>\n",
                     study.table.runs.size(), html(study.table.path),
                     study.problem.empty() ? study.main.points.size() : 0,
                     html(name(study.main.convention))) +
         "<nav><a href=\"#conclusions\">Conclusions</a><a href=\"#plots\">Plots</a><a "
         "href=\"#tables\">Tables</a><a href=\"#method\">Method</a></nav></header>\n";
}

constexpr const char* kMethod = R"(<section id="method"><h2>Method</h2>
<p>N counts parameters, D training tokens, C training FLOPs; losses are nats a token. Approach 1 follows the lowest learning curve at each budget, approach 2 puts a parabola in ln N through runs of equal
compute, approach 3 fits L = E + A/N<sup>α</sup> + B/D<sup>β</sup> to all runs at once (Hoffmann et al., 2022). Intervals are 2.5% and 97.5% of a bootstrap that draws whole runs, not logged points. They tell what chance in these
runs does to the numbers; they do not tell whether the law holds elsewhere. What is counted as N and C changes exponents (Porian et al., 2024; Pearce and Song, 2024), so it stands at every plot.</p></section>
)";

}  // namespace

std::string report_html(const Study& study, const std::vector<ScalingFigure>& figures,
                        const std::vector<FigureSvg>& svg) {
  SKEIN_CHECK_EQ(figures.size(), svg.size());
  std::string made = head(study) + "<main>\n<section id=\"conclusions\"><h2>Conclusions</h2>\n" +
                     tiles(study) + "<ul class=\"conclusions\">\n" + list(conclusions(study)) +
                     "</ul>\n" + caveats(study) +
                     "</section>\n<section id=\"plots\"><h2>Plots</h2>\n";
  for (size_t i = 0; i < figures.size(); ++i)
    if (figures[i].problem.empty()) made += figure_html(figures[i], svg[i]);
  made += left_out(figures) + "</section>\n<section id=\"tables\"><h2>Tables</h2>\n" +
          report_tables(study) + "</section>\n" + kMethod;
  return made + fmt::format(
                    "</main>\n<footer>Made by skein report "
                    "{}.</footer>\n<script>{}</script>\n</body></html>\n",
                    std::string(kVersion), report_behaviour());
}

}  // namespace skein
