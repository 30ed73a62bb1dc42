#include "skein/train/watch/spikes.h"

#include <cmath>
#include <fmt/format.h>

#include "skein/core/error.h"

namespace skein::train {

void bind(Options& options, SpikeConfig& c) {
  options.add_choice("spikes.action", c.action,
                     {{"none", SpikeConfig::Action::none},
                      {"warn", SpikeConfig::Action::warn},
                      {"skip", SpikeConfig::Action::skip},
                      {"rollback", SpikeConfig::Action::rollback}},
                     "where a loss or gradient norm is far beyond the latest ones: warn; skip: the "
                     "step changes nothing; rollback: to the newest checkpoint, and on behind the "
                     "data since then");
  options.add("spikes.deviations", c.deviations, "beyond their mean that makes a spike");
  options.add("spikes.window", c.window, "how many are the latest", "steps");
  options.add("spikes.leave_out", c.leave_out,
              "data behind a spike that a rollback leaves out as well", "steps");
}

void check(const SpikeConfig& c) {
  constexpr int64_t kMostSteps = 10000;
  require(c.deviations > 0 && std::isfinite(c.deviations),
          "spikes.deviations={} must be a number above 0", c.deviations);
  require(c.window >= 2 && c.window <= kMostSteps, "spikes.window={} must be 2 to {}", c.window,
          kMostSteps);
  require(c.leave_out >= 0, "spikes.leave_out={} must be at least 0", c.leave_out);
}

std::string Spike::str() const {
  return fmt::format(
      "the {} {:.4g} is {:.1f} deviations above {:.4g}, the mean of the latest steps", quantity,
      value, (value - mean) / deviation, mean);
}

void SpikeRecord::add(Spike decision) {
  if (decisions.size() == kKept) decisions.erase(decisions.begin());
  decisions.push_back(std::move(decision));
}

double SpikeDetector::Latest::mean() const {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double SpikeDetector::Latest::deviation() const {
  const double middle = mean();
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

double SpikeDetector::limit(const Latest& latest) const {
  if (2 * std::ssize(latest.values) < config_.window)
    return std::numeric_limits<double>::infinity();
  return latest.mean() + config_.deviations * latest.deviation();
}

SpikeDetector::Limits SpikeDetector::limits() const { return {limit(losses_), limit(grad_norms_)}; }

void SpikeDetector::add(Latest& latest, double value) const {
  if (std::ssize(latest.values) == config_.window) latest.values.pop_front();
  latest.values.push_back(value);
}

std::optional<Spike> SpikeDetector::judge(int64_t step, double loss, double grad_norm) {
  if (!std::isfinite(loss) || !std::isfinite(grad_norm)) return {};
  const Limits most = limits();
  std::optional<Spike> found;
  const auto spike = [&](const char* quantity, double value, const Latest& latest) {
    found = Spike{step, quantity, value, latest.mean(), latest.deviation(), ""};
  };
  if (loss > most.loss)
    spike("loss", loss, losses_);
  else if (grad_norm > most.grad_norm)
    spike("gradient norm", grad_norm, grad_norms_);
  add(losses_, loss);
  add(grad_norms_, grad_norm);
  return found;
}

void SpikeDetector::keep(SpikeRecord& record) const {
  record.losses = {losses_.values.begin(), losses_.values.end()};
  record.grad_norms = {grad_norms_.values.begin(), grad_norms_.values.end()};
}

void SpikeDetector::restore(const SpikeRecord& record) {
  losses_.values.clear();
  grad_norms_.values.clear();
  for (const double value : record.losses) add(losses_, value);
  for (const double value : record.grad_norms) add(grad_norms_, value);
}

}  // namespace skein::train
