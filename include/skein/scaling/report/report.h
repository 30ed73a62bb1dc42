// A study as one HTML page that needs nothing else: conclusions in words, plots, tables; light and
// dark, desk and phone.
#pragma once

#include <string>
#include <vector>

#include "skein/plot/figure.h"
#include "skein/plot/page.h"
#include "skein/scaling/study/study.h"

namespace skein::scaling::report {

// The figures of the report, in its order.
std::vector<plot::Figure> figures_of(const study::Study& study);

// Mean |activation| over the width after the last step, and its exponents of growth step by step;
// two panels a check.
plot::Figure coordinate_figure(const std::vector<study::CoordinateCheck>& checks);

// As plot::write_report: the same study gives the same bytes.
plot::ReportFiles write_report(const study::Study& study, const std::string& folder,
                               bool pictures = true);

// The page alone: src/scaling/report/page.html with JSON for its script, which is that of
// plot::page and
//   {"study": what study_json says but for the draws, "fitted": runs,
//    "n_exponent": INTERVAL of beta / (alpha + beta), "conclusions": [...], "caveats": [...],
//    "runs": [{"name", "status", "n", "d", "c", "loss", "d_model", "n_layers", "lr", "seed"}]}
// pictures: whether those of the figures lie beside it.
std::string report_html(const study::Study& study, const std::vector<plot::Figure>& figures,
                        bool pictures = true);

// What the study says, most important first, as plain sentences.
std::vector<std::string> conclusions(const study::Study& study);

}  // namespace skein::scaling::report
