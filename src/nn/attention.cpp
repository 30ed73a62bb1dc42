#include "skein/nn/attention.h"

#include <cmath>

#include "skein/nn/attention_watcher.h"
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
  parameters.add_cost(ScoreCost{.width = width,
                                .causal = spec.causal && !spec.grid && keys == RowKind::tokens,
                                .keys = keys,
                                .seen = spec.grid ? spec.grid->places() : 0});
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
  if (spec.grid)
    windows_.emplace(parameters, spec.name + ".offsets", spec.heads, *spec.grid, spec.in_deviation);
  add_costs(parameters, spec);
}

kernels::Pattern Attention::own_pattern(const Pass& pass) const {
  kernels::Pattern made = kernels::Pattern::full();
  if (spec_.window)
    made = kernels::Pattern::window(spec_.window, spec_.causal);
  else if (spec_.causal)
    made = kernels::Pattern::causal();
  made.query_segments = made.key_segments = pass.sequence().segments;
  if (spec_.causal) made.prefix = pass.batch->prefix;
  return made;
}

Attention::KeysAndValues Attention::made_of(const Var& entered, const Pass& pass) const {
  return {in_heads(k_(entered, pass), spec_.head_width),
          in_heads(v_(entered, pass), spec_.head_width)};
}

Attention::KeysAndValues Attention::of_memory(const Var& memory, const Pass& pass) const {
  KvCache::Layer* kept = pass.cache ? &pass.cache->layers.at(spec_.block) : nullptr;
  if (kept && kept->memory_keys.defined())
    return {Var(kept->memory_keys), Var(kept->memory_values)};
  SKEIN_CHECK(memory.defined());
  const Var seen = ops::one_use(memory), source = enter_shards(seen, pass);
  const KeysAndValues made = made_of(source, pass);
  leave_shards(source, seen, pass);
  if (kept) {
    kept->memory_keys = made.k.value();
    kept->memory_values = made.v.value();
  }
  return made;
}

ops::AttentionArguments Attention::arguments(int64_t heads, const Pass& pass) const {
  ops::AttentionArguments made;
  made.scale = spec_.scale > 0 ? spec_.scale : 1 / std::sqrt(static_cast<double>(spec_.head_width));
  made.first_head = pass.tp->rank() * heads;
  if (!pass.train || spec_.dropout <= 0) return made;
  made.dropout = spec_.dropout;
  made.dropout_key = pass.dropout_key(spec_.block, spec_.dropout_site);
  made.sample_ids = pass.batch->sample_ids;
  return made;
}

// Without a cache.
Var Attention::watched(const Var& q, const KeysAndValues& seen, const ops::AttentionArguments& how,
                       const Var& bias, const Pass& pass) const {
  if (pass.watcher) {
    ops::AttentionArguments told = how;
    if (bias.defined()) told.bias = bias.value();
    pass.watcher->see({spec_.block, looks_elsewhere(), q.value(), seen.k.value(), told});
  }
  return ops::attention(q, seen.k, seen.v, how, bias);
}

Var Attention::attend(const Var& q, const KeysAndValues& own, const Var& bias,
                      const Pass& pass) const {
  ops::AttentionArguments how = arguments(q.shape()[2], pass);
  how.pattern = own_pattern(pass);
  if (!pass.cache) return watched(q, own, how, bias, pass);
  pass.cache->append(spec_.block, own.k.value(), own.v.value());
  const auto& layer = pass.cache->layers[spec_.block];
  how.pattern.first_query = pass.cache->length;
  how.pattern.first_key = pass.cache->first_key;
  return ops::attention(q, Var(layer.keys), Var(layer.values), how, bias);
}

// Of [B*W,M,H,D].
Var Attention::attend_in_windows(const Var& q, const KeysAndValues& own, const Pass& pass) const {
  const int64_t samples = pass.batch->size();
  ops::AttentionArguments how = arguments(q.shape()[2], pass);
  windows_->confine(samples, how);
  return ops::attention(q, own.k, own.v, how, windows_->bias(samples));
}

// When decoding, rows that look at one memory are queries of one sample.
Var Attention::look(const Var& q, const KeysAndValues& elsewhere, const Pass& pass) const {
  ops::AttentionArguments how = arguments(q.shape()[2], pass);
  how.pattern = kernels::Pattern::full();
  if (!pass.cache) {
    const data::Sequence &own = pass.sequence(), &source = pass.batch->source;
    if (own.segments.defined() || source.segments.defined()) {
      how.pattern.query_segments = segments_of(own);
      how.pattern.key_segments = segments_of(source);
    }
    return watched(q, elsewhere, how, {}, pass);
  }
  const int64_t memories = elsewhere.k.shape()[0], queries = q.shape()[0] * q.shape()[1];
  SKEIN_CHECK_EQ(queries % memories, 0);
  if (const Tensor& segments = pass.cache->memory_segments; segments.defined()) {
    how.pattern.key_segments = segments;
    how.pattern.query_segments =
        Tensor::zeros({memories, queries / memories}, DType::i32, segments.device());
  }
  const Var together = ops::reshape(q, {memories, queries / memories, q.shape()[2], q.shape()[3]});
  return ops::reshape(ops::attention(together, elsewhere.k, elsewhere.v, how), q.shape());
}

Var Attention::operator()(const Var& x, const SideInputs& beside, const Pass& pass) const {
  const Var all = enter_shards(x, pass), entered = windows_ ? windows_->cut(all) : all;
  Var q = in_heads(q_(entered, pass), spec_.head_width);
  KeysAndValues seen = looks_elsewhere() ? of_memory(beside.memory, pass) : made_of(entered, pass);
  leave_shards(all, x, pass);
  if (spec_.rotary) {
    q = turned(q, pass.sequence().positions, spec_.waves);
    seen.k = turned(seen.k, pass.sequence().positions, spec_.waves);
  }
  const Var y = looks_elsewhere() ? look(q, seen, pass)
                : windows_        ? attend_in_windows(q, seen, pass)
                                  : attend(q, seen, beside.bias, pass);
  const Var read = ops::reshape(y, {y.shape()[0], y.shape()[1], y.shape()[2] * y.shape()[3]});
  return out_(windows_ ? windows_->joined(read) : read, pass);
}

}  // namespace skein
