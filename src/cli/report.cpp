#include "skein/scaling/report/report.h"

#include <algorithm>
#include <filesystem>
#include <unistd.h>

#include "skein/comm/world.h"
#include "skein/core/files/files.h"
#include "skein/core/files/output_target.h"
#include "skein/core/files/result_file.h"
#include "skein/core/log.h"
#include "skein/runs/page.h"

#include "command.h"

namespace skein::cli {
namespace {

struct ReportConfig {
  scaling::study::StudyInput input;
  scaling::study::StudyOptions study;
  std::string output = "report";
  bool figures = true;
  std::vector<std::string> coordinates;
};

void tell_conclusions(const std::vector<std::string>& sentences, const plot::ReportFiles& made) {
  ResultFile shown("output", "");
  for (const std::string& sentence : sentences) shown.write("- " + sentence + "\n");
  shown.finish();
  for (const std::string& sentence : made.left_out) log::info("left out: {}", sentence);
  log::info("report in {}", made.page);
}

void report_runs(const std::vector<std::string>& folders, const Options& options,
                 const ReportConfig& config) {
  for (const std::string& folder : folders)
    require(runs::is_run(folder),
            "{} is no run, for it has no metrics.jsonl, but {} is one; give folders of runs "
            "alone, or one table of scaling runs",
            folder, *std::ranges::find_if(folders, runs::is_run));
  for (const auto& [key, value] : options.values())
    require(key == "output.path" || key == "report.figures" || !options.given(key),
            "{}={} is for a table of scaling runs, but {} is a run; leave it out", key, value,
            folders.front());
  std::vector<runs::RunLog> logs;
  for (const std::string& folder : folders) logs.emplace_back(folder).read();
  const std::vector<std::string> names = runs::names_of(folders);
  std::vector<runs::ShownRun> shown;
  for (size_t i = 0; i < logs.size(); ++i) shown.push_back({names[i], &logs[i]});
  tell_conclusions(runs::summaries(shown),
                   runs::write_report(shown, config.output, config.figures));
}

void report_study(ReportConfig& config) {
  config.study.must_fit = false;
  config.study.parametric.show_progress = isatty(STDERR_FILENO) != 0;
  std::vector<scaling::study::CoordinateCheck> checks;
  for (const std::string& path : config.coordinates)
    for (scaling::study::CoordinateCheck& check : scaling::study::read_coordinate_checks(path))
      checks.push_back(std::move(check));
  scaling::study::Study fitted = make_study(read_input(config.input), config.study);
  fitted.coordinates = checks;
  const plot::ReportFiles made =
      scaling::report::write_report(fitted, config.output, config.figures);
  tell_conclusions(scaling::report::conclusions(fitted), made);
}

void refuse_files_of_runs(const std::vector<std::string>& words) {
  for (const std::filesystem::path path : words)
    require(path.filename() != "metrics.jsonl", "{} is a file of a run; give the run's folder: {}",
            path.string(), path.has_parent_path() ? path.parent_path().string() : ".");
}

}  // namespace

int report_command(const std::vector<std::string>& args, std::unique_ptr<Group>&) {
  ReportConfig config;
  Options options("skein report",
                  "Draws runs (skein report RUN...), or fits scaling laws to the runs of a table "
                  "and draws them (skein report results.csv|SWEEP_FOLDER). A folder with "
                  "metrics.jsonl is a run.");
  bind(options, config.input);
  bind(options, config.study);
  options.add("output.path", config.output,
              "folder for report.html, and PNG, SVG and CSV of every plot");
  options.add("report.figures", config.figures,
              "draw PNG, SVG and CSV of every plot, too; without, report.html alone is written");
  options.add("report.coordinates", config.coordinates,
              "JSON files of `skein bench --bench.what=coordinates`, drawn beside the rest");
  if (!parse(options, args, true)) return 0;
  // One process is enough; the others of a launcher have nothing to add.
  if (detect_launch().rank > 0) return 0;
  const std::vector<std::string>& words = options.words();
  require(!config.output.empty(), "output.path is empty; give a folder for the report");
  file_target(config.output + "/report.html", ExistingFile::replace, "output.path");
  refuse_files_of_runs(words);
  if (std::ranges::any_of(words, runs::is_run)) {
    report_runs(words, options, config);
    return 0;
  }
  require(words.size() == 1,
          "{} tables are named; give one, as skein report results.csv, the folder of a sweep, or "
          "folders of runs, which hold metrics.jsonl",
          words.size());
  config.input.path = words.front();
  require(!is_folder(words.front()) || is_there(words.front() + "/results.csv"),
          "{} has neither metrics.jsonl nor results.csv; give folders of runs, the folder of a "
          "sweep, or a table of scaling runs",
          words.front());
  report_study(config);
  return 0;
}

}  // namespace skein::cli
