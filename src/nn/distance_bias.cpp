#include "skein/nn/distance_bias.h"

namespace skein {

DistanceBias::DistanceBias(Parameters& parameters, const DistanceBiasSpec& spec)
    : buckets_(spec.buckets),
      table_(parameters.add({.name = spec.name + ".weight",
                             .shape = {spec.heads, spec.buckets.count},
                             .split = Split::columns,
                             .start = {Start::normal, spec.deviation},
                             .meets = RowKind::looked_up})) {}

Var DistanceBias::operator()(int64_t samples, int64_t queries, int64_t keys,
                             int64_t first_query) const {
  return ops::distance_bias(table_, samples, {queries, keys, first_query, buckets_});
}

}  // namespace skein
