#include "skein/scaling/report.h"

#include <filesystem>
#include <fstream>

#include "skein/scaling/gnuplot.h"
#include "skein/core/error.h"

namespace skein {
namespace {

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) fail("{} cannot be written: is the disk full, or the folder not writable?", path);
}

}  // namespace

ReportFiles write_report(const Study& study, const std::string& folder) {
  SKEIN_CHECK(!study.main.points.empty());
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail("the folder {} cannot be made: {}", folder, error.message());
  const std::vector<ScalingFigure> figures = figures_of(study);
  ReportFiles made{folder + "/report.html", {}, {}};
  std::vector<FigureSvg> drawn;
  for (const ScalingFigure& figure : figures) {
    drawn.emplace_back();
    if (!figure.problem.empty()) {
      for (const char* kind : {".png", ".csv"}) std::filesystem::remove(folder + "/" + figure.name + kind, error);
      made.left_out.push_back(figure.title + ": " + figure.problem);
      continue;
    }
    const std::string path = folder + "/" + figure.name;
    drawn.back() = draw(figure, path + ".png");
    write_file(path + ".csv", figure_csv(figure));
    made.others.insert(made.others.end(), {path + ".png", path + ".csv"});
  }
  write_file(made.page + ".partial", report_html(study, figures, drawn));
  std::filesystem::rename(made.page + ".partial", made.page, error);
  if (error) fail("{} cannot be written: {}", made.page, error.message());
  return made;
}

}  // namespace skein
