// Pages with figures: one HTML file that needs nothing else, light and dark, desk and phone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "skein/core/json.h"
#include "skein/plot/figure.h"

namespace skein::plot {

// What a page's script draws figures from:
//   [{"name", "title", "caption", "convention", "problem", "panels": [{"title", "x": AXIS, "y":
//     AXIS, "series": [{"title", "ink", "mark", "weight",
//     "points": [[x, y] | [x, y, NAME to show] | [x, low, high] of a band]}]}]}]
//   AXIS: {"label", "logarithmic", "low", "high", "ticks": [[at, text]]}
nlohmann::ordered_json figures_json(const std::vector<Figure>& figures);

// src/plot/page.html with the title, and with `body`, which holds the elements and the script of
// this kind of page. Its script finds `report` and, in it, {"inks": {NAME: [LIGHT, DARK]},
// "pictures"}: whether NAME.png, .svg and .csv of the figures lie beside the page. No text of
// `report` can end the element that holds it.
std::string page(std::string_view title, std::string_view body, nlohmann::ordered_json report,
                 bool pictures);

struct ReportFiles {
  std::string page;                   // FOLDER/report.html
  std::vector<std::string> others;    // FOLDER/NAME.png, .svg and .csv of every figure
  std::vector<std::string> left_out;  // sentences: figures that the data cannot give
};

// Makes `folder` and writes the page into it, and before it, where `pictures`, the files of the
// figures. Error(failure) where gnuplot is missing or fails, or something cannot be written; a
// usage error naming output.path where the folder cannot be made.
ReportFiles write_report(const std::vector<Figure>& figures, const std::string& page,
                         const std::string& folder, bool pictures);

}  // namespace skein::plot
