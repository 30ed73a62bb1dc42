// A bias of attention's scores by distance, on the tape.
#pragma once

#include "skein/kernels/distance_bias.h"
#include "skein/ops/var.h"

namespace skein::ops {

// Of T queries and S keys.
struct Distances {
  int64_t queries = 0, keys = 0;
  int64_t first_query = 0;  // the first one's place among the keys
  kernels::DistanceBuckets buckets = {};
};

// table [H,n] -> [samples,H,T+S-1] in the accumulator type: element j - i + T - 1 is what the score
// of query i, in place first_query + i, gets for key j. All samples have the same numbers and a
// gradient each, so that the bits of the table's do not depend on which samples come together.
Var distance_bias(const Weight& table, int64_t samples, const Distances& of);
// table [H,n] -> [samples,H,W]: the same of any W distances.
Var distance_bias(const Weight& table, int64_t samples, const kernels::BucketedDistances& at);

}  // namespace skein::ops
