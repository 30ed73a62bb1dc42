#include "skein/scaling/report/report.h"

#include <unistd.h>

#include "skein/comm/world.h"
#include "skein/core/files/output_target.h"
#include "skein/core/files/result_file.h"
#include "skein/core/log.h"

#include "command.h"

namespace skein::cli {

int report_command(const std::vector<std::string>& args, std::unique_ptr<Group>&) {
  scaling::study::StudyInput input;
  scaling::study::StudyOptions study;
  std::string output = "report";
  std::vector<std::string> coordinates;
  Options options("skein report",
                  "Fits scaling laws to the runs of a table and draws them: skein report "
                  "results.csv|SWEEP_FOLDER");
  bind(options, input);
  bind(options, study);
  options.add("output.path", output, "folder for report.html, and PNG, SVG and CSV of every plot");
  options.add("report.coordinates", coordinates,
              "JSON files of `skein bench --bench.what=coordinates`, drawn beside the rest");
  if (!parse(options, args, true)) return 0;
  // One process is enough; the others of a launcher have nothing to add.
  if (detect_launch().rank > 0) return 0;
  require(options.words().size() == 1,
          "{} tables are named; give one, as skein report results.csv, or the folder of a sweep",
          options.words().size());
  require(!output.empty(), "output.path is empty; give a folder for the report");
  file_target(output + "/report.html", ExistingFile::replace, "output.path");
  input.path = options.words().front();
  study.must_fit = false;
  study.parametric.show_progress = isatty(STDERR_FILENO) != 0;
  std::vector<scaling::study::CoordinateCheck> checks;
  for (const std::string& path : coordinates)
    for (scaling::study::CoordinateCheck& check : scaling::study::read_coordinate_checks(path))
      checks.push_back(std::move(check));
  scaling::study::Study fitted = make_study(read_input(input), study);
  fitted.coordinates = checks;
  const scaling::report::ReportFiles made = scaling::report::write_report(fitted, output);
  ResultFile shown("output", "");
  for (const std::string& sentence : scaling::report::conclusions(fitted))
    shown.write("- " + sentence + "\n");
  shown.finish();
  for (const std::string& sentence : made.left_out) log::info("left out: {}", sentence);
  log::info("report in {}", made.page);
  return 0;
}

}  // namespace skein::cli
