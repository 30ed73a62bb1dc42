// The numbers of a run, read at once and, as of a run that goes on, in two parts.
#include <cstring>

#include "skein/runs/run_log.h"

#include "../fuzz.h"

namespace {

using skein::runs::Point;
using skein::runs::RunLog;

bool equal(const RunLog& one, const RunLog& other) {
  if (one.step() != other.step() || one.lines() != other.lines() ||
      one.has_open_line() != other.has_open_line() || one.curves().size() != other.curves().size())
    return false;
  for (size_t i = 0; i < one.curves().size(); ++i) {
    const auto& [name, curve] = one.curves()[i];
    const auto& [other_name, other_curve] = other.curves()[i];
    if (name != other_name || curve.records() != other_curve.records() ||
        curve.points().size() != other_curve.points().size())
      return false;
    for (size_t at = 0; at < curve.points().size(); ++at)
      if (curve.points()[at].step != other_curve.points()[at].step) return false;
  }
  return true;
}

}  // namespace

void fuzz(std::string_view input) {
  static const skein::test::FuzzFile file("metrics.jsonl"), answers("rollouts.jsonl");
  static const std::string folder = std::filesystem::path(file.path()).parent_path().string();
  answers.write(input);
  if (skein::runs::last_answers(folder, 5).size() > 5) std::abort();
  RunLog parts(folder);
  file.write(input.substr(0, input.size() / 2));
  parts.read();
  file.write(input);
  parts.read();
  RunLog whole(folder);
  whole.read();
  if (!equal(parts, whole)) std::abort();
  for (const auto& [name, curve] : whole.curves())
    if (curve.points().empty() || curve.points().size() > skein::runs::Curve::kMostPoints)
      std::abort();
}
