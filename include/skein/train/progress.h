// How fast a run goes and how long it will take.
#pragma once

#include <string>

#include "skein/core/values.h"
#include "skein/train/replica.h"

namespace skein::train {

// "112 GFLOP/s (38.0% of peak)"; peak_flops 0: unknown, and the share is left out.
std::string speed_text(double flops_per_second, double peak_flops);

// The most that the process has held so far: peak_memory_bytes, resident, and peak_tensor_bytes.
NamedValues memory_values();

class Progress {
 public:
  // first: steps done before this start. peak_flops: of the whole job; 0: unknown.
  Progress(int64_t first, int64_t total, double peak_flops);

  // Call after every step.
  void step_done(int64_t done, const StepResult& result);
  // "step  120/2000  loss 3.4021  grad_norm 0.81  lr 1.9e-03  5.1k tokens/s  112 GFLOP/s (38% of
  // peak)  ETA 4m10s"; of graphs "5.1k tokens/s  20k links/s"
  std::string line(const StepResult& result, double lr) const;
  // Of the last step, for metrics.jsonl.
  NamedValues values(const StepResult& result, double lr) const;
  // "300 steps, 1.2M tokens in 4m10s, 5.1k tokens/s"
  std::string summary() const;

 private:
  struct Work {
    double seconds = 0, tokens = 0, links = 0, flops = 0;
  };

  static std::string rate_text(const Work& work);

  int64_t made_ = 0;  // steps, those that a rollback has made once more included
  int64_t done_, total_;
  double peak_flops_;
  double start_, last_;  // steady_seconds()
  // The last step, the mean of recent ones, and all, with the time between them.
  Work step_, average_, all_;
};

}  // namespace skein::train
