// The metrics, each in a source of its own.
#pragma once

#include <memory>

#include "skein/text/scores/metrics.h"

namespace skein::text {

std::unique_ptr<const Metric> make_bleu(const MetricOptions& options);
std::unique_ptr<const Metric> make_chrf(const MetricOptions& options);
std::unique_ptr<const Metric> make_ter();
std::unique_ptr<const Metric> make_rouge(const MetricOptions& options);
std::unique_ptr<const Metric> make_exact_match(const MetricOptions& options);
std::unique_ptr<const Metric> make_f1(const MetricOptions& options);

}  // namespace skein::text
