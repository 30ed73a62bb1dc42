#include "skein/train/progress.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "skein/tensor/buffer.h"

namespace skein {

Progress::Progress(int64_t first, int64_t total, int64_t tokens_per_step, const Speed& speed)
    : first_(first), done_(first), total_(total), tokens_per_step_(tokens_per_step), speed_(speed), start_(Clock::now()),
      last_(start_) {}

void Progress::step_done(int64_t done) {
  const auto now = Clock::now();
  step_seconds_ = std::max(1e-9, std::chrono::duration<double>(now - last_).count());
  last_ = now;
  done_ = done;
  // The mean over the first steps, later one that forgets: evaluations and other jobs on the machine come and go.
  const double weight = std::max(1.0 / static_cast<double>(done_ - first_), 0.02);
  average_seconds_ += weight * (step_seconds_ - average_seconds_);
}

double Progress::tokens_per_second() const { return static_cast<double>(tokens_per_step_) / average_seconds_; }

std::string Progress::line(const StepResult& result, double lr) const {
  const int width = static_cast<int>(std::to_string(total_).size());
  const double flops = tokens_per_second() * speed_.flops_per_token;
  std::string text = fmt::format("step {:>{}}/{}  loss {:.4f}  grad_norm {:.3f}  lr {:.2e}  {} tokens/s  {}FLOP/s", done_, width,
                                 total_, result.loss, result.grad_norm, lr, readable_count(tokens_per_second()),
                                 readable_count(flops, " "));
  if (speed_.peak_flops > 0) text += fmt::format(" ({:.1f}% of peak)", 100 * flops / speed_.peak_flops);
  return text + "  ETA " + readable_seconds(average_seconds_ * static_cast<double>(total_ - done_));
}

std::vector<std::pair<std::string, double>> Progress::values(const StepResult& result, double lr) const {
  const double rate = static_cast<double>(tokens_per_step_) / step_seconds_, flops = rate * speed_.flops_per_token;
  std::vector<std::pair<std::string, double>> values{
      {"loss", result.loss}, {"grad_norm", result.grad_norm}, {"lr", lr},
      {"seconds", step_seconds_},
      {"tokens_per_second", rate}, {"model_flops_per_second", flops},
      {"peak_memory_bytes", static_cast<double>(peak_resident_bytes())},
      {"peak_tensor_bytes", static_cast<double>(memory_use().peak)}};
  if (speed_.peak_flops > 0) values.emplace_back("share_of_peak", flops / speed_.peak_flops);
  if (!result.applied) values.emplace_back("skipped", 1);
  return values;
}

std::string Progress::summary() const {
  const double seconds = std::chrono::duration<double>(last_ - start_).count();
  const double tokens = static_cast<double>((done_ - first_) * tokens_per_step_);
  return fmt::format("{} steps, {} tokens in {}, {} tokens/s", done_ - first_, readable_count(tokens), readable_seconds(seconds),
                     readable_count(tokens / std::max(seconds, 1e-9)));
}

std::string readable_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}d{:02}h", whole / 86400, whole / 3600 % 24);
}

std::string readable_count(double value, const char* gap) {
  constexpr const char* suffixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t k = 0;
  while (std::abs(value) >= 1000 && k + 1 < std::size(suffixes)) {
    value /= 1000;
    ++k;
  }
  const std::string unit = std::string(gap) + suffixes[k];
  return k == 0 || value >= 100 ? fmt::format("{:.0f}{}", value, unit) : fmt::format("{:.1f}{}", value, unit);
}

}  // namespace skein
