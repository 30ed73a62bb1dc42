#include "skein/train/preflight/doctor.h"

#include <algorithm>

namespace skein::train {
namespace {

const char* word_of(Grade grade) {
  switch (grade) {
    case Grade::good: return "good";
    case Grade::note: return "note";
    case Grade::bad: return "bad";
  }
  return "";
}

}  // namespace

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<5} {:<13} {}\n", word_of(finding.grade), finding.about, finding.text);
    if (!finding.advice.empty()) text += fmt::format("{:<19} -> {}\n", "", finding.advice);
  }
  return text;
}

Grade worst_of(const std::vector<Finding>& findings) {
  Grade worst = Grade::good;
  for (const Finding& finding : findings) worst = std::max(worst, finding.grade);
  return worst;
}

}  // namespace skein::train
