#include "skein/ops/likeliest.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "checks.h"

namespace skein::ops {

Tensor likeliest(const Tensor& logits, const VocabShard& shard, Group& group) {
  check_operands("likeliest", {{"logits", "MV", logits}});
  check(0 <= shard.valid && shard.valid <= logits.dim(1),
        "likeliest: shard.valid must be from 0 to the {} columns of logits, not {}", logits.dim(1),
        shard.valid);
  const Tensor here = logits.to(Device{}).to(DType::f32);
  const int64_t rows = here.dim(0), columns = here.dim(1), ranks = group.size();
  const Tensor best = Tensor::from(std::vector<float>(static_cast<size_t>(rows),
                                                      -std::numeric_limits<float>::infinity()),
                                   {rows}),
               ids = Tensor::zeros({rows}, DType::i32);
  for (int64_t row = 0; row < rows && shard.valid > 0; ++row) {
    const float* from = here.data<float>() + row * columns;
    const float* found = std::max_element(from, from + shard.valid);
    best.data<float>()[row] = *found;
    ids.data<int32_t>()[row] = static_cast<int32_t>(shard.first_id + (found - from));
  }
  if (ranks == 1) return ids;
  const Tensor all_best = Tensor::empty({ranks, rows}, DType::f32),
               all_ids = Tensor::empty({ranks, rows}, DType::i32);
  group.all_gather(best, all_best).wait();
  group.all_gather(ids, all_ids).wait();
  best.copy_from(all_best.rows(0, 1));
  ids.copy_from(all_ids.rows(0, 1));
  for (int64_t i = rows; i < ranks * rows; ++i) {
    if (all_best.data<float>()[i] <= best.data<float>()[i % rows]) continue;
    best.data<float>()[i % rows] = all_best.data<float>()[i];
    ids.data<int32_t>()[i % rows] = all_ids.data<int32_t>()[i];
  }
  return ids;
}

}  // namespace skein::ops
