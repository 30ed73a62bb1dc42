// What the cells of a sweep are asked to be, before steps and settings follow.
#pragma once

#include <vector>

#include "skein/scaling/sweep/design.h"

namespace skein::scaling::sweep {

struct CellSpec {
  ModelConfig model;
  double tokens = 0;
  double budget = 0;  // 0: none
  double lr = 0;      // 0: lr.lr, or the rule's
  double batch = 0;   // tokens; 0: train.global_batch, or the rule's
  int64_t seed = 1;
};

std::vector<CellSpec> cell_specs(const SweepConfig& config);
std::vector<CellSpec> listed_specs(const SweepConfig& config);
double flops_per_token(const ModelCounts& counts, FlopCount count);
// "3x48"; a usage error naming `origin`.
ModelConfig model_of_shape(const std::string& text, const SweepConfig& config,
                           const std::string& origin);

}  // namespace skein::scaling::sweep
