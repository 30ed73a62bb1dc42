// A study as one HTML page that needs nothing else: conclusions in words, plots, tables; light and
// dark, desk and phone.
#pragma once

#include <string>
#include <vector>

#include "skein/scaling/report/figure.h"

namespace skein {

struct ReportFiles {
  std::string page;                   // FOLDER/report.html
  std::vector<std::string> others;    // FOLDER/NAME.png, .svg and .csv of every plot
  std::vector<std::string> left_out;  // sentences: plots that the data cannot give
};

// Makes `folder`. The same study gives the same bytes. Error(failure) where gnuplot is missing or
// fails; the page is replaced at the end, when all else is written. All text of the table is
// escaped.
ReportFiles write_report(const Study& study, const std::string& folder);

// The page alone; svg: of each figure, empty for one left out.
struct FigureSvg {
  std::string wide, narrow;
};
std::string report_html(const Study& study, const std::vector<ScalingFigure>& figures,
                        const std::vector<FigureSvg>& svg);

// What the study says, most important first, as plain sentences.
std::vector<std::string> conclusions(const Study& study);

}  // namespace skein
