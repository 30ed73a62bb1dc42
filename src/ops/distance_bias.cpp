#include "skein/ops/distance_bias.h"

#include "by_group.h"
#include "checks.h"
#include "made.h"

namespace skein::ops {
namespace {

void check_distances(const Tensor& table, int64_t samples, const Distances& of) {
  const auto& [count, farthest, both_ways] = of.buckets;
  check(table.dim(1) == count, "distance_bias: table must have {} columns, one a bucket: table {}",
        count, table.shape());
  const int64_t least = both_ways ? 4 : 2, exact = count / least;
  check(count >= least && count % least == 0,
        "distance_bias: the number of buckets must be a multiple of {}, not {}", least, count);
  check(farthest > exact,
        "distance_bias: the farthest distance must be above {}, the number of exact ones, not {}",
        exact, farthest);
  check(samples > 0 && of.queries > 0 && of.keys > 0,
        "distance_bias: there must be samples, queries and keys, not {}, {} and {}", samples,
        of.queries, of.keys);
}

}  // namespace

Var distance_bias(const Weight& table, int64_t samples, const kernels::BucketedDistances& at) {
  const Tensor& numbers = table.value();
  check_operands("distance_bias",
                 {{"table", "HN", numbers}, gradient_of("table's gradient", "HN", table)});
  check(at.starts.size() == numbers.dim(1) + 1,
        "distance_bias: table must have {} columns, one a bucket: table {}", at.starts.size() - 1,
        numbers.shape());
  const Tensor bias = made_on_device(
      numbers.like({samples, numbers.dim(0), at.buckets.size()}, gradient_dtype(numbers.dtype())),
      [&](auto device, Out out) { kernels::distance_bias(device, numbers, at, out); });
  return record(bias, {}, table.learns(), [table, at](const Tensor& dbias) {
    on_device(dbias.device(), [&](auto device) {
      add_by_group({table.gradient()}, dbias.dim(0),
                   [&](int64_t begin, int64_t end, const std::vector<Out>& into) {
                     kernels::distance_bias_backward(device, dbias.rows(begin, end), at, into[0]);
                   });
    });
  });
}

Var distance_bias(const Weight& table, int64_t samples, const Distances& of) {
  check_operands("distance_bias", {{"table", "HN", table.value()}});
  check_distances(table.value(), samples, of);
  return distance_bias(
      table, samples,
      kernels::bucketed_distances(of.buckets, 1 - of.queries - of.first_query,
                                  of.queries + of.keys - 1, table.value().device()));
}

}  // namespace skein::ops
