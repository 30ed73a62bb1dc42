#include "skein/runs/page.h"

#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "skein/core/base64.h"
#include "skein/core/files/files.h"
#include "skein/core/version.h"
#include "skein/plot/text.h"

namespace skein::runs {

std::string_view page_template();  // page.html, of which CMake makes a source

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kAnswers = 6;                 // of a run
constexpr size_t kLargestPicture = 4'000'000;  // bytes
constexpr std::string_view kPicture = "rebuilt.png";
const std::set<std::string> kOwnOptions = {"run.dir", "run.id"};

Json number_of(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string note_of(const RunLog& log) {
  if (log.lines() == 0) return "It has no line yet.";
  return log.has_open_line() ? fmt::format(
                                   "Line {} of its metrics.jsonl has no end yet and is "
                                   "left out.",
                                   log.lines() + 1)
                             : "";
}

Json run_json(const ShownRun& run) {
  Json last = Json::object();
  for (const auto& [name, curve] : run.log->curves()) last[name] = number_of(curve.last());
  return {{"name", run.name},
          {"folder", run.log->folder()},
          {"step", run.log->step()},
          {"last", std::move(last)},
          {"note", note_of(*run.log)}};
}

// Rows of those that differ, in the order in which the runs have them.
Json options_json(const std::vector<ShownRun>& runs) {
  std::vector<std::string> keys;
  std::vector<std::map<std::string, std::string>> values;
  std::set<std::string> known = kOwnOptions;
  for (const ShownRun& run : runs) {
    values.emplace_back();
    for (auto& [key, value] : options_of_run(run.log->folder())) {
      if (known.insert(key).second) keys.push_back(key);
      values.back()[key] = value;
    }
  }
  Json made = Json::array();
  for (const std::string& key : keys) {
    Json row = Json::array({key});
    for (const auto& of_run : values) {
      const auto at = of_run.find(key);
      row.push_back(at == of_run.end() ? Json(nullptr) : Json(at->second));
    }
    const bool equal =
        std::all_of(row.begin() + 2, row.end(), [&](const Json& value) { return value == row[1]; });
    if (!equal) made.push_back(std::move(row));
  }
  return made;
}

// What a model makes of hidden patches (train/run_folder.h), as part of the page.
std::string picture_of(const std::string& folder) {
  const std::string path = join_path(folder, std::string(kPicture));
  if (!is_there(path)) return "";
  const FileDescriptor file(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const struct stat status = file.status();
  if (!S_ISREG(status.st_mode) || static_cast<size_t>(status.st_size) > kLargestPicture) return "";
  std::string bytes(status.st_size, '\0');
  bytes.resize(file.read_at(std::as_writable_bytes(std::span(bytes)), 0));
  return bytes.substr(0, 4) == "\x89PNG" ? "data:image/png;base64," + base64(bytes) : "";
}

Json samples_json(const ShownRun& run) {
  Json answers = Json::array();
  for (const SampledAnswer& one : last_answers(run.log->folder(), kAnswers))
    answers.push_back({{"step", one.step},
                       {"prompt", one.prompt},
                       {"answer", one.answer},
                       {"score", number_of(one.score)},
                       {"reward", number_of(one.reward)}});
  return {{"run", run.name},
          {"answers", std::move(answers)},
          {"picture", picture_of(run.log->folder())}};
}

Json json_of(const std::vector<ShownRun>& runs, const std::vector<plot::Figure>& figures) {
  Json all = Json::array(), samples = Json::array();
  for (const ShownRun& run : runs) {
    all.push_back(run_json(run));
    Json of_run = samples_json(run);
    if (!of_run["answers"].empty() || of_run["picture"] != "") samples.push_back(std::move(of_run));
  }
  return {{"version", std::string(kVersion)},
          {"runs", std::move(all)},
          {"options", options_json(runs)},
          {"samples", std::move(samples)},
          {"figures", plot::figures_json(figures)}};
}

}  // namespace

Json runs_json(const std::vector<ShownRun>& runs) { return json_of(runs, figures_of(runs)); }

std::vector<std::string> summaries(const std::vector<ShownRun>& runs) {
  std::vector<std::string> made;
  for (const ShownRun& run : runs) {
    if (run.log->lines() == 0) {
      made.push_back(fmt::format("{}: {}", run.name, note_of(*run.log)));
      continue;
    }
    std::string text = fmt::format("{}: step {}", run.name, run.log->step());
    for (const char* name : {"loss", "validation_loss", "reward", "score", "kl"})
      if (const Curve* const curve = run.log->curve(name))
        text += fmt::format(", {} {}", name, plot::number_text(curve->last(), 5));
    const std::string note = note_of(*run.log);
    made.push_back(text + (note.empty() ? "" : ". " + note));
  }
  return made;
}

std::string runs_html(const Json& report, bool pictures) {
  return plot::page("Runs", page_template(), report, pictures);
}

plot::ReportFiles write_report(const std::vector<ShownRun>& runs, const std::string& folder,
                               bool pictures) {
  const std::vector<plot::Figure> figures = figures_of(runs);
  return plot::write_report(figures, runs_html(json_of(runs, figures), pictures), folder, pictures);
}

}  // namespace skein::runs
