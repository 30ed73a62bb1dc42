// A study as one HTML page that needs nothing else: conclusions in words, plots, tables; light and
// dark, desk and phone.
#pragma once

#include <string>
#include <vector>

#include "skein/scaling/report/figure.h"

namespace skein::scaling::report {

struct ReportFiles {
  std::string page;                   // FOLDER/report.html
  std::vector<std::string> others;    // FOLDER/NAME.png, .svg and .csv of every plot
  std::vector<std::string> left_out;  // sentences: plots that the data cannot give
};

// Makes `folder`. The same study gives the same bytes. Error(failure) where gnuplot is missing or
// fails; the page is replaced at the end, when all else is written.
ReportFiles write_report(const study::Study& study, const std::string& folder);

// The page alone: src/scaling/report/page.html with JSON for its script, in which nothing can end
// the element that holds it:
//   {"study": what study_json says but for the draws, "fitted": runs,
//    "n_exponent": INTERVAL of beta / (alpha + beta), "conclusions": [...], "caveats": [...],
//    "runs": [{"name", "status", "n", "d", "c", "loss", "d_model", "n_layers", "lr", "seed"}],
//    "inks": {NAME: [LIGHT, DARK]},
//    "figures": [{"name", "title", "caption", "convention", "problem", "panels": [{"title",
//                 "x": AXIS, "y": AXIS, "series": [{"title", "ink", "mark", "weight",
//                 "points": [[x, y] | [x, y, NAME to show] | [x, low, high] of a band]}]}]}]}
//   AXIS: {"label", "logarithmic", "low", "high", "ticks": [[at, text]]}
std::string report_html(const study::Study& study, const std::vector<ScalingFigure>& figures);

// What the study says, most important first, as plain sentences.
std::vector<std::string> conclusions(const study::Study& study);

}  // namespace skein::scaling::report
