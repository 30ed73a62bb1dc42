#include "skein/train/progress.h"

#include <algorithm>

#include "skein/core/clock.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/tensor/buffer.h"

namespace skein::train {

std::string speed_text(double flops, double peak_flops) {
  const std::string text = readable_count(flops, " ") + "FLOP/s";
  return peak_flops > 0 ? text + fmt::format(" ({:.1f}% of peak)", 100 * flops / peak_flops) : text;
}

NamedValues memory_values() {
  return {{"peak_memory_bytes", peak_resident_bytes()}, {"peak_tensor_bytes", memory_use().peak}};
}

Progress::Progress(int64_t first, int64_t total, double peak_flops)
    : done_(first),
      total_(total),
      peak_flops_(peak_flops),
      start_(steady_seconds()),
      last_(start_) {}

void Progress::step_done(int64_t done, const StepResult& result) {
  const double now = steady_seconds();
  step_ = {std::max(1e-9, now - last_), result.tokens, result.links, result.flops};
  all_.tokens += result.tokens;
  all_.links += result.links;
  all_.seconds = now - start_;
  last_ = now;
  done_ = done;
  // The mean over the first steps, later one that forgets: evaluations and other jobs on the
  // machine come and go.
  const double weight = std::max(ratio(1, ++made_), 0.02);
  for (double Work::*part : {&Work::seconds, &Work::tokens, &Work::links, &Work::flops})
    average_.*part += weight * (step_.*part - average_.*part);
}

std::string Progress::rate_text(const Work& work) {
  const double seconds = std::max(1e-9, work.seconds);
  const std::string text = readable_count(work.tokens / seconds) + " tokens/s";
  return work.links > 0 ? fmt::format("{}  {} links/s", text, readable_count(work.links / seconds))
                        : text;
}

std::string Progress::line(const StepResult& result, double lr) const {
  const int width = static_cast<int>(std::to_string(total_).size());
  return fmt::format("step {:>{}}/{}  loss {:.4f}  grad_norm {:.3f}  lr {:.2e}  {}  {}  ETA {}",
                     done_, width, total_, shown_number(result.loss),
                     shown_number(result.grad_norm), lr, rate_text(average_),
                     speed_text(average_.flops / average_.seconds, peak_flops_),
                     readable_seconds(average_.seconds * static_cast<double>(total_ - done_)));
}

NamedValues Progress::values(const StepResult& result, double lr) const {
  const double flops = step_.flops / step_.seconds;
  NamedValues values{{"loss", result.loss},
                     {"grad_norm", result.grad_norm},
                     {"lr", lr},
                     {"seconds", step_.seconds},
                     {"tokens_per_second", step_.tokens / step_.seconds},
                     {"model_flops_per_second", flops}};
  if (step_.links > 0) values.emplace_back("links_per_second", step_.links / step_.seconds);
  for (const auto& [name, value] : memory_values()) values.emplace_back(name, value);
  if (peak_flops_ > 0) values.emplace_back("share_of_peak", flops / peak_flops_);
  if (!result.applied) values.emplace_back("skipped", 1);
  return values;
}

std::string Progress::summary() const {
  return fmt::format("{} steps, {} tokens in {}, {}", made_, readable_count(all_.tokens),
                     readable_seconds(all_.seconds), rate_text(all_));
}

}  // namespace skein::train
