#include <unistd.h>

#include <cstdio>

#include "command.h"
#include "result_file.h"
#include "skein/comm/world.h"
#include "skein/core/log.h"
#include "skein/scaling/study.h"

namespace skein {
namespace {

void write_json(const std::string& path, const Study& study) {
  ResultFile file("output.path", path == "-" ? "" : path);
  file.write(study_json(study));
  file.finish();
  if (path != "-") log::info("fits in {}", path);
}

}  // namespace

int fit_command(const std::vector<std::string>& args, std::unique_ptr<Group>&) {
  StudyInput input;
  StudyOptions study;
  std::string output;
  Options options("skein fit", "Fits scaling laws to the runs of a table: skein fit results.csv");
  bind(options, input);
  bind(options, study);
  options.add("output.path", output, "JSON file for the fits; - for stdout, instead of the text");
  if (!parse(options, args, true)) return 0;
  // One process is enough; the others of a launcher have nothing to add.
  if (detect_launch().rank > 0) return 0;
  require(options.words().size() == 1, "{} named; give one, as skein fit results.csv", options.words().empty() ? "no table is" : "more than one table is");
  input.path = options.words().front();
  study.parametric.show_progress = isatty(STDERR_FILENO) != 0;
  const Study fitted = make_study(read_input(input), study);
  if (output != "-") std::fputs(study_text(fitted).c_str(), stdout);
  if (!output.empty()) write_json(output, fitted);
  return 0;
}

}  // namespace skein
