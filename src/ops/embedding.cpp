#include "skein/ops/embedding.h"

#include "skein/kernels/embedding.h"

namespace skein::ops {

Var embedding(const Tensor& ids, const Weight& table, int64_t first_id) {
  Tensor out = Tensor::empty({ids.dim(0), ids.dim(1), table.value.dim(1)}, table.value.dtype(), table.value.device());
  on_device(out.device(), [&](auto device) { kernels::embedding(device, table.value, ids, first_id, out); });
  return record(out, {}, table.learns(), [ids, table, first_id](const Tensor& dy) {
    on_device(dy.device(), [&](auto device) { kernels::embedding_backward(device, dy, ids, first_id, table.gradient); });
  });
}

}  // namespace skein::ops
