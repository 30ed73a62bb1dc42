#include <algorithm>
#include <string_view>

#include "skein/scaling/report/report.h"

#include "scaling/study/json.h"

namespace skein::scaling::report {

std::string_view page_template();  // page.html, of which CMake makes a source

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostRuns = 2000;

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

Json json_of(const study::Study& study, const std::vector<plot::Figure>& figures) {
  const auto& fit = study.main.parametric;
  return {{"study", study::json_of(study)},
          {"fitted", study.problem.empty() ? study.main.points.size() : 0},
          {"n_exponent", fit ? study::json_of(fit->n_exponent) : Json(nullptr)},
          {"conclusions", conclusions(study)},
          {"caveats", caveats(study)},
          {"runs", runs_of(study)},
          {"figures", plot::figures_json(figures)}};
}

}  // namespace

std::string report_html(const study::Study& study, const std::vector<plot::Figure>& figures,
                        bool pictures) {
  return plot::page("Scaling laws", page_template(), json_of(study, figures), pictures);
}

}  // namespace skein::scaling::report
