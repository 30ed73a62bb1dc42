// Runs as one HTML page that needs nothing else: their last numbers, figures, samples, and the
// options by which they differ.
#pragma once

#include <string>
#include <vector>

#include "skein/core/json.h"
#include "skein/plot/page.h"
#include "skein/runs/figures.h"

namespace skein::runs {

// What src/runs/page.html shows:
//   {"version", "runs": [{"name", "folder", "step", "last": {NAME: number or null}, "note"}],
//    "options": [[KEY, value of each run or null]], "samples": [{"run", "answers": [{"step",
//    "prompt", "answer", "score", "reward"}], "picture": a data URL or ""}],
//    "figures": plot::figures_json}
// options: those that differ between the runs, but for where a run is and how it is called.
nlohmann::ordered_json runs_json(const std::vector<ShownRun>& runs);

// "NAME: step 320, loss 4.31, validation_loss 4.4; ...", a run each.
std::vector<std::string> summaries(const std::vector<ShownRun>& runs);

// The page with that JSON.
std::string runs_html(const nlohmann::ordered_json& report, bool pictures);

// The page and, where `pictures`, the figures' files, as plot::write_report has it.
plot::ReportFiles write_report(const std::vector<ShownRun>& runs, const std::string& folder,
                               bool pictures);

}  // namespace skein::runs
