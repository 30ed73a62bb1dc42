// A table of what attention's scores get by distance, one a stack of blocks, that is learnt.
#pragma once

#include <string>

#include "skein/nn/parameter.h"
#include "skein/ops/distance_bias.h"

namespace skein {

struct DistanceBiasSpec {
  std::string name;
  int64_t heads = 0;
  kernels::DistanceBuckets buckets = {};
  double deviation = 0.02;
};

class DistanceBias {
 public:
  // Its tensor is "NAME.weight" [heads,buckets], heads divided by tensor-parallel ranks.
  DistanceBias(Parameters& parameters, const DistanceBiasSpec& spec);
  // [samples,heads/t,T+S-1] for T queries, the first in place first_query of S keys, as
  // ops::distance_bias says.
  Var operator()(int64_t samples, int64_t queries, int64_t keys, int64_t first_query = 0) const;

 private:
  kernels::DistanceBuckets buckets_;
  Weight table_;
};

}  // namespace skein
