#include "skein/nn/attention.h"

#include <cmath>

#include "skein/ops/attention.h"
#include "skein/ops/recompute.h"

namespace skein {
namespace {

LinearSpec projection(const AttentionSpec& spec, const char* name, int64_t outputs) {
  return {spec.name + name,       spec.width, outputs, Split::columns, spec.bias, spec.in_deviation,
          spec.sequence_parallel, spec.rate};
}

// The values of these inputs are needed by nobody else, and what shares their bytes keeps them.
Var in_heads(const Var& x, int64_t width) {
  const Var made = ops::reshape(x, {x.shape()[0], x.shape()[1], x.shape()[2] / width, width});
  x.drop_value();
  return made;
}

Var turned(const Var& x, const Tensor& positions, const kernels::RotaryWaves& waves) {
  const Var made = ops::rotary(x, positions, waves);
  x.drop_value();
  return made;
}

}  // namespace

SelfAttention::SelfAttention(Parameters& parameters, const AttentionSpec& spec)
    : spec_(spec),
      q_(parameters, projection(spec, ".q", spec.heads * spec.head_width)),
      k_(parameters, projection(spec, ".k", spec.kv_heads * spec.head_width)),
      v_(parameters, projection(spec, ".v", spec.kv_heads * spec.head_width)),
      out_(parameters, {spec.name + ".out", spec.heads * spec.head_width, spec.width, Split::rows,
                        spec.bias, spec.out_deviation, spec.sequence_parallel, spec.rate}) {}

Var SelfAttention::attend(const Var& q, const Var& k, const Var& v, const Pass& pass) const {
  ops::AttentionArguments arguments;
  arguments.scale =
      spec_.scale > 0 ? spec_.scale : 1 / std::sqrt(static_cast<double>(spec_.head_width));
  arguments.mask = {spec_.causal, spec_.window, pass.batch->segments, pass.batch->segments};
  if (pass.train && spec_.dropout > 0) {
    arguments.dropout = spec_.dropout;
    arguments.dropout_key = pass.dropout_key(spec_.block, 0);
    arguments.sample_ids = pass.batch->sample_ids;
    arguments.first_head = pass.tp->rank() * q.shape()[2];
  }
  if (!pass.cache) return ops::attention(q, k, v, arguments);
  pass.cache->append(spec_.block, k.value(), v.value());
  const auto& layer = pass.cache->layers[static_cast<size_t>(spec_.block)];
  arguments.mask.first_query = pass.cache->length;
  arguments.mask.first_key = pass.cache->first_key;
  return ops::attention(q, Var(layer.keys), Var(layer.values), arguments);
}

Var SelfAttention::operator()(const Var& x, const Pass& pass) const {
  const Var entered = enter_shards(x, pass);
  Var q = in_heads(q_(entered, pass), spec_.head_width);
  Var k = in_heads(k_(entered, pass), spec_.head_width);
  const Var v = in_heads(v_(entered, pass), spec_.head_width);
  leave_shards(entered, x, pass);
  if (spec_.rotary) {
    q = turned(q, pass.batch->positions, spec_.waves);
    k = turned(k, pass.batch->positions, spec_.waves);
  }
  const Var y = attend(q, k, v, pass);
  return out_(ops::reshape(y, {y.shape()[0], y.shape()[1], y.shape()[2] * y.shape()[3]}), pass);
}

}  // namespace skein
