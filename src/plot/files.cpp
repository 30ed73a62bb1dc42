#include "skein/core/files/files.h"

#include <filesystem>
#include <fstream>

#include "skein/core/error.h"
#include "skein/core/files/result_file.h"
#include "skein/plot/gnuplot.h"
#include "skein/plot/page.h"

namespace skein::plot {
namespace {

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) fail("{} cannot be written: is the disk full, or the folder not writable?", path);
}

// Of an earlier report that had one.
void remove_figure(const std::string& path) {
  std::error_code ignored;
  for (const char* kind : {".png", ".svg", ".csv"}) std::filesystem::remove(path + kind, ignored);
}

std::vector<std::string> draw(const Figure& figure, const std::string& folder) {
  const std::string path = folder + "/" + figure.name;
  run_gnuplot(gnuplot_script(figure, Canvas::png, path + ".png") +
              gnuplot_script(figure, Canvas::svg, path + ".svg"));
  for (const char* kind : {".png", ".svg"})
    if (!std::filesystem::exists(path + kind))
      fail("gnuplot drew no {}{}; is it Debian's gnuplot-nox, with the terminals svg and pngcairo?",
           figure.name, kind);
  write_file(path + ".csv", figure_csv(figure));
  return {path + ".png", path + ".svg", path + ".csv"};
}

}  // namespace

std::vector<std::string> write_figure(const Figure& figure, const std::string& option,
                                      const std::string& folder) {
  make_result_folder(option, folder);
  return draw(figure, folder);
}

ReportFiles write_report(const std::vector<Figure>& figures, const std::string& page,
                         const std::string& folder, bool pictures) {
  make_result_folder("output.path", folder);
  ReportFiles made{folder + "/report.html", {}, {}};
  for (const Figure& figure : figures) {
    if (!figure.problem.empty()) made.left_out.push_back(figure.title + ": " + figure.problem);
    if (!figure.problem.empty() || !pictures) {
      remove_figure(folder + "/" + figure.name);
      continue;
    }
    for (std::string& file : draw(figure, folder)) made.others.push_back(std::move(file));
  }
  replace_file(made.page, page);
  return made;
}

}  // namespace skein::plot
