#include "skein/nn/attention.h"

#include <cmath>

#include "skein/ops/attention.h"
#include "skein/ops/recompute.h"

namespace skein {
namespace {

LinearSpec projection(const AttentionSpec& spec, const char* name, int64_t inputs, int64_t heads) {
  return {spec.name + name,       inputs,    heads * spec.head_width,
          Split::columns,         spec.bias, spec.in_deviation,
          spec.sequence_parallel, spec.rate};
}

LinearSpec key_projection(const AttentionSpec& spec, const char* name) {
  if (!spec.memory_width) return projection(spec, name, spec.width, spec.kv_heads);
  LinearSpec made = projection(spec, name, spec.memory_width, spec.kv_heads);
  made.meets = RowKind::source_tokens;
  return made;
}

LinearSpec query_projection(const AttentionSpec& spec) {
  LinearSpec made = projection(spec, ".q", spec.width, spec.heads);
  if (spec.query_deviation >= 0) made.deviation = spec.query_deviation;
  return made;
}

void add_costs(Parameters& parameters, const AttentionSpec& spec) {
  const RowKind keys = spec.memory_width ? RowKind::source_tokens : RowKind::tokens;
  const int64_t width = spec.heads * spec.head_width, key_width = spec.kv_heads * spec.head_width;
  parameters.add_cost(
      ScoreCost{.width = width, .causal = spec.causal && keys == RowKind::tokens, .keys = keys});
  parameters.add_cost(KeptCost{.split = 2 * width});                    // queries, results
  parameters.add_cost(KeptCost{.split = 2 * key_width, .rows = keys});  // keys, values
}

// Where one of two sequences tells none, its tokens are all of segment 0.
Tensor segments_of(const data::Sequence& sequence) {
  return sequence.segments.defined()
             ? sequence.segments
             : Tensor::zeros(sequence.tokens.shape(), DType::i32, sequence.tokens.device());
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

Attention::Attention(Parameters& parameters, const AttentionSpec& spec)
    : spec_(spec),
      q_(parameters, query_projection(spec)),
      k_(parameters, key_projection(spec, ".k")),
      v_(parameters, key_projection(spec, ".v")),
      out_(parameters, {spec.name + ".out", spec.heads * spec.head_width, spec.width, Split::rows,
                        spec.bias, spec.out_deviation, spec.sequence_parallel, spec.rate}) {
  SKEIN_CHECK(!looks_elsewhere() || (!spec.rotary && spec.window == 0));
  add_costs(parameters, spec);
}

kernels::Pattern Attention::pattern(const Pass& pass) const {
  const data::Sequence &own = pass.sequence(), &source = pass.batch->source;
  kernels::Pattern made = kernels::Pattern::full();
  if (!looks_elsewhere()) {
    if (spec_.window)
      made = kernels::Pattern::window(spec_.window, spec_.causal);
    else if (spec_.causal)
      made = kernels::Pattern::causal();
    made.query_segments = made.key_segments = own.segments;
  } else if (own.segments.defined() || source.segments.defined()) {
    made.query_segments = segments_of(own);
    made.key_segments = segments_of(source);
  }
  return made;
}

Var Attention::attend(const Var& q, const Var& k, const Var& v, const Pass& pass) const {
  ops::AttentionArguments arguments;
  arguments.scale =
      spec_.scale > 0 ? spec_.scale : 1 / std::sqrt(static_cast<double>(spec_.head_width));
  arguments.pattern = pattern(pass);
  if (pass.train && spec_.dropout > 0) {
    arguments.dropout = spec_.dropout;
    arguments.dropout_key = pass.dropout_key(spec_.block, spec_.dropout_site);
    arguments.sample_ids = pass.batch->sample_ids;
    arguments.first_head = pass.tp->rank() * q.shape()[2];
  }
  if (!pass.cache || looks_elsewhere()) return ops::attention(q, k, v, arguments);
  pass.cache->append(spec_.block, k.value(), v.value());
  const auto& layer = pass.cache->layers[spec_.block];
  arguments.pattern.first_query = pass.cache->length;
  arguments.pattern.first_key = pass.cache->first_key;
  return ops::attention(q, Var(layer.keys), Var(layer.values), arguments);
}

Var Attention::operator()(const Var& x, const Var& memory, const Pass& pass) const {
  SKEIN_CHECK(memory.defined() || !looks_elsewhere());
  const Var entered = enter_shards(x, pass);
  const Var seen = ops::one_use(memory),
            source = looks_elsewhere() ? enter_shards(seen, pass) : entered;
  Var q = in_heads(q_(entered, pass), spec_.head_width);
  Var k = in_heads(k_(source, pass), spec_.head_width);
  const Var v = in_heads(v_(source, pass), spec_.head_width);
  leave_shards(entered, x, pass);
  if (looks_elsewhere()) leave_shards(source, seen, pass);
  if (spec_.rotary) {
    q = turned(q, pass.sequence().positions, spec_.waves);
    k = turned(k, pass.sequence().positions, spec_.waves);
  }
  const Var y = attend(q, k, v, pass);
  return out_(ops::reshape(y, {y.shape()[0], y.shape()[1], y.shape()[2] * y.shape()[3]}), pass);
}

}  // namespace skein
