#include "skein/scaling/report/report.h"

#include "skein/core/error.h"

namespace skein::scaling::report {

plot::ReportFiles write_report(const study::Study& study, const std::string& folder,
                               bool pictures) {
  SKEIN_CHECK(!study.main.points.empty());
  const std::vector<plot::Figure> figures = figures_of(study);
  return plot::write_report(figures, report_html(study, figures, pictures), folder, pictures);
}

}  // namespace skein::scaling::report
