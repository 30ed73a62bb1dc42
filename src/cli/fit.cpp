#include <unistd.h>

#include "skein/comm/world.h"
#include "skein/core/files/result_file.h"
#include "skein/core/log.h"
#include "skein/scaling/study/study.h"

#include "command.h"

namespace skein::cli {

int fit_command(const std::vector<std::string>& args, std::unique_ptr<Group>&) {
  // One process is enough; the others of a launcher have nothing to add.
  if (detect_launch().rank > 0) return 0;
  scaling::study::StudyInput input;
  scaling::study::StudyOptions study;
  std::string output;
  Options options("skein fit", "Fits scaling laws to the runs of a table: skein fit results.csv");
  bind(options, input);
  bind(options, study);
  options.add("output.path", output, "JSON file for the fits; - for stdout, instead of the text");
  if (!parse(options, args, true)) return 0;
  require(options.words().size() == 1, "{} named; give one, as skein fit results.csv",
          options.words().empty() ? "no table is" : "more than one table is");
  input.path = options.words().front();
  // Made now, lest a long fit ends before a file that cannot be.
  std::unique_ptr<ResultFile> file;
  if (!output.empty())
    file = std::make_unique<ResultFile>("output.path", output == "-" ? "" : output);
  study.parametric.show_progress = isatty(STDERR_FILENO) != 0;
  const scaling::study::Study fitted = make_study(read_input(input), study);
  if (output != "-") write_result("output.path", "", study_text(fitted));  // before the log speaks
  if (!file) return 0;
  file->write(study_json(fitted));
  file->finish();
  if (output != "-") log::info("fits in {}", output);
  return 0;
}

}  // namespace skein::cli
