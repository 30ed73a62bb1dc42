#include "skein/train/watch/progress_bar.h"

#include <algorithm>
#include <utility>

#include "skein/core/clock.h"
#include "skein/core/log_file.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"

namespace skein::train {
namespace {

constexpr int64_t kWidth = 20;

}  // namespace

std::string progress_text(const std::string& unit, int64_t first, int64_t done, int64_t total,
                          double seconds) {
  const double share = total > 0 ? std::clamp(ratio(done, total), 0.0, 1.0) : 1;
  std::string bar(static_cast<size_t>(kWidth * share), '=');
  bar.resize(kWidth, ' ');
  std::string made = fmt::format("[{}] {} {}/{}, {:.0f}%", bar, unit, done, total, 100 * share);
  if (done > first)
    made += ", ETA " +
            readable_seconds(seconds * ratio(std::max<int64_t>(0, total - done), done - first));
  return made;
}

ProgressBar::ProgressBar(std::string unit, int64_t first, int64_t total)
    : unit_(std::move(unit)), first_(first), total_(total), start_(steady_seconds()) {}

ProgressBar::~ProgressBar() { log::show_status(""); }

void ProgressBar::show(int64_t done) const {
  log::show_status(progress_text(unit_, first_, done, total_, steady_seconds() - start_));
}

}  // namespace skein::train
