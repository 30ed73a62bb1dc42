#include "skein/nn/attention.h"

#include <cmath>

#include "skein/core/numbers.h"
#include "skein/nn/attention_watcher.h"
#include "skein/ops/recompute.h"

#include "counted.h"

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

bool is_sparse(const AttentionSpec& spec) {
  return !spec.memory_width && !spec.grid && spec.sight.kind != SightKind::full;
}

bool has_global_projections(const AttentionSpec& spec) {
  return is_sparse(spec) && spec.sight.kind == SightKind::global && !spec.causal;
}

bool is_hashed(const AttentionSpec& spec) {
  return is_sparse(spec) && spec.sight.kind == SightKind::lsh;
}

// Between the queries' and the values' in the order of parameters.
std::optional<Linear> keys_of(Parameters& parameters, const AttentionSpec& spec) {
  if (is_hashed(spec)) return {};
  return Linear(parameters, key_projection(spec, ".k"));
}

// Each shard has some of the heads only, so gradients are summed as where it has some positions.
std::optional<NormLayer> head_norm(Parameters& parameters, const AttentionSpec& spec,
                                   const char* name) {
  if (!spec.head_norm) return {};
  SKEIN_CHECK(!is_hashed(spec) && !has_global_projections(spec));
  return NormLayer(parameters, {spec.name + name, spec.head_width, spec.head_norm_kind,
                                *spec.head_norm, false, true});
}

// What is kept besides the projections' results.
KeptCost kept_of_hashed(const AttentionSpec& spec) {
  const int64_t width = spec.heads * spec.head_width;
  return KeptCost{.split = (4 * spec.sight.rounds + 1) * width};
}

void add_costs(Parameters& parameters, const AttentionSpec& spec) {
  const RowKind keys = spec.memory_width ? RowKind::source_tokens : RowKind::tokens;
  const int64_t width = spec.heads * spec.head_width, key_width = spec.kv_heads * spec.head_width;
  ScoreCost scores{.width = width,
                   .causal = spec.causal && !spec.grid && keys == RowKind::tokens,
                   .keys = keys,
                   .seen = spec.grid ? spec.grid->places() : 0};
  if (is_sparse(spec))
    scores.structure = [sight = spec.sight, causal = spec.causal](int64_t length) {
      return keys_per_query(sight, causal, length);
    };
  parameters.add_cost(scores);
  parameters.add_cost(KeptCost{.split = 2 * width});                    // queries, results
  parameters.add_cost(KeptCost{.split = 2 * key_width, .rows = keys});  // keys, values
  if (spec.head_norm) {
    parameters.add_cost(KeptCost{.split = width});
    parameters.add_cost(KeptCost{.split = key_width, .rows = keys});
  }
  if (is_hashed(spec)) parameters.add_cost(kept_of_hashed(spec));
  if (has_global_projections(spec)) parameters.add_cost(KeptCost{.split = 2 * key_width + width});
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

// [B,T,H,D] -> [B,T,H*D].
Var in_rows(const Var& y) {
  return ops::reshape(y, {y.shape()[0], y.shape()[1], y.shape()[2] * y.shape()[3]});
}

Var turned(const Var& x, const Tensor& positions, const kernels::RotaryWaves& waves) {
  const Var made = ops::rotary(x, positions, waves);
  x.drop_value();
  return made;
}

SightShape shape_of(const Var& q, int block, int64_t first_query, int64_t first_head) {
  return {.queries = q.shape()[1],
          .first_query = first_query,
          .block = block,
          .first_head = first_head,
          .heads = q.shape()[2]};
}

kernels::BlockLists lists_on(Device device, kernels::BlockLists lists) {
  for (Tensor* x : {&lists.starts, &lists.blocks, &lists.origins, &lists.rows})
    if (x->defined()) *x = x->to(device);
  return lists;
}

// What tells dropout of marked queries from that of the others.
constexpr uint64_t kMarkedSites = 0x6d61726b6564;

// The last `columns` of x [B,T] i32.
Tensor last_columns(const Tensor& x, int64_t columns) {
  if (x.dim(1) == columns) return x;
  const Tensor made = Tensor::empty({x.dim(0), columns}, x.dtype(), x.device());
  for (int64_t row = 0; row < x.dim(0); ++row)
    made.flat(row * columns, columns).copy_from(x.flat((row + 1) * x.dim(1) - columns, columns));
  return made;
}

}  // namespace

Attention::Attention(Parameters& parameters, const AttentionSpec& spec)
    : spec_(spec),
      q_(parameters, query_projection(spec)),
      k_(keys_of(parameters, spec)),
      v_(parameters, key_projection(spec, ".v")),
      out_(parameters,
           {spec.name + ".out", spec.heads * spec.head_width, spec.width, Split::rows,
            spec.bias && spec.out_bias, spec.out_deviation, spec.sequence_parallel, spec.rate}),
      q_norm_(head_norm(parameters, spec, ".q_norm")),
      k_norm_(head_norm(parameters, spec, ".k_norm")) {
  SKEIN_CHECK(!looks_elsewhere() || (!spec.rotary && spec.sight.kind == SightKind::full));
  if (has_global_projections(spec)) {
    LinearSpec of_marked = projection(spec, ".global_q", spec.width, spec.heads);
    of_marked.meets = RowKind::samples;  // a few
    global_q_.emplace(parameters, of_marked);
    global_k_.emplace(parameters, projection(spec, ".global_k", spec.width, spec.kv_heads));
    global_v_.emplace(parameters, projection(spec, ".global_v", spec.width, spec.kv_heads));
  }
  if (spec.grid)
    windows_.emplace(parameters, spec.name + ".offsets", spec.heads, *spec.grid, spec.in_deviation);
  if (is_hashed(spec)) {
    SKEIN_CHECK_EQ(spec.heads, spec.kv_heads);
    hashed_.emplace(parameters, HashedSpec{spec.sight, spec.causal, spec.block, spec.head_width});
  }
  add_costs(parameters, spec);
}

void Attention::turn(Var& q, KeysAndValues& seen, const Tensor& positions,
                     const Tensor& of_keys) const {
  if (!spec_.rotary) return;
  q = turned(q, positions, spec_.waves);
  seen.k = turned(seen.k, of_keys, spec_.waves);
}

Var Attention::queries_of(const Var& entered, const Pass& pass) const {
  const Var q = in_heads(q_(entered, pass), spec_.head_width);
  return q_norm_ ? (*q_norm_)(q) : q;
}

Attention::KeysAndValues Attention::made_of(const Var& entered, const Pass& pass) const {
  const Var k = in_heads((*k_)(entered, pass), spec_.head_width);
  return {k_norm_ ? (*k_norm_)(k) : k, in_heads(v_(entered, pass), spec_.head_width)};
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

kernels::Pattern Attention::own_pattern(const Var& q, int64_t first_query,
                                        int64_t first_head) const {
  const SightShape shape = shape_of(q, spec_.block, first_query, first_head);
  const Device device = q.value().device();
  if (pattern_.lists.size && listed_ == shape && pattern_.lists.starts.device() == device)
    return pattern_;
  kernels::Pattern made = pattern_of(spec_.sight, spec_.causal, shape);
  if (!made.lists.size) return made;
  made.lists = lists_on(device, made.lists);
  listed_ = shape;
  pattern_ = made;
  return made;
}

kernels::Pattern Attention::pattern_in_segments(const Var& q, int64_t first_head,
                                                const Pass& pass) const {
  const Tensor& segments = pass.sequence().segments;
  kernels::Pattern made = own_pattern(q, 0, first_head);
  made.query_segments = made.key_segments = segments;
  if (!made.lists.size || !segments.defined()) return made;
  if (const Tensor begins = begins_of(segments.to(Device{}), spec_.causal); begins.defined())
    made.lists = lists_on(segments.device(),
                          lists_of_segments(spec_.sight, spec_.causal,
                                            shape_of(q, spec_.block, 0, first_head), begins));
  return made;
}

// Queries of marked tokens, of what has projections of its own for them.
Attention::Marked Attention::marked_in(const Var& entered, const Pass& pass) const {
  const data::Sequence& sequence = pass.sequence();
  Marked made;
  made.marks = marks_of(spec_.sight.marks, sequence);
  made.rows = marked_rows(made.marks, entered.value().device());
  if (!global_q_ || made.rows.most == 0) return made;
  const auto heads = [&](const Linear& layer, const Var& x) {
    return in_heads(layer(x, pass), spec_.head_width);
  };
  made.q = heads(*global_q_, ops::take_rows(entered, made.rows.taken));
  made.seen = {heads(*global_k_, entered), heads(*global_v_, entered)};
  turn(made.q, made.seen, at_rows(sequence.positions, made.rows, 0), sequence.positions);
  return made;
}

// Queries of marked tokens among those of all, of which the last ones are asked.
Attention::Marked Attention::marked_of(const Tensor& marks, const Var& q,
                                       const KeysAndValues& own) const {
  const int64_t samples = q.shape()[0], queries = q.shape()[1], width = q.shape()[2] * q.shape()[3];
  Marked made;
  made.marks = marks;
  made.seen = own;
  made.rows = marked_rows(last_columns(marks, queries), q.value().device());
  if (made.rows.most == 0) return made;
  const Var rows = ops::take_rows(ops::reshape(q, {samples, queries, width}), made.rows.taken);
  made.q = ops::reshape(rows, {samples, made.rows.most, q.shape()[2], q.shape()[3]});
  return made;
}

// Marked tokens' results take the place of those that they have as others do. how: of the others.
Var Attention::with_marked(const Var& near, const Marked& marked,
                           const ops::AttentionArguments& how) const {
  if (marked.rows.most == 0) return near;
  const int64_t samples = near.shape()[0], keys = marked.seen.k.shape()[1],
                before = keys - near.shape()[1];
  const Device device = near.value().device();
  ops::AttentionArguments all = how;
  all.dropout_key ^= kMarkedSites;
  all.pattern = spec_.causal ? kernels::Pattern::causal() : kernels::Pattern::full();
  all.pattern.query_places =
      at_rows(counted(samples, before, near.shape()[1]), marked.rows, narrow<int32_t>(keys));
  all.pattern.key_places = counted(samples, 0, keys).to(device);
  const Tensor segments = how.pattern.key_segments.defined()
                              ? how.pattern.key_segments
                              : Tensor::zeros({samples, keys}, DType::i32);
  all.pattern.key_segments = segments.to(device);
  all.pattern.query_segments = at_rows(last_columns(segments, near.shape()[1]), marked.rows, -1);
  const Var far = ops::attention(marked.q, marked.seen.k, marked.seen.v, all);
  return ops::reshape(with_rows(in_rows(near), in_rows(far), marked.rows), near.shape());
}

Var Attention::attend(const Var& q, const KeysAndValues& own, const Var& bias, const Marked& marked,
                      const Pass& pass) const {
  if (pass.cache) return decode(q, own, bias, pass);
  ops::AttentionArguments how = arguments(q.shape()[2], pass);
  how.pattern = pattern_in_segments(q, how.first_head, pass);
  if (spec_.causal) how.pattern.prefix = pass.batch->prefix;
  if (!marks()) return watched(q, own, how, bias, pass);
  require(!pass.watcher,
          "tokens that attention.kind=global marks look twice, by weights of their own; such "
          "attention cannot be shown");
  how.pattern.marked = marked.marks.to(q.value().device());
  const Var near = ops::attention(q, own.k, own.v, how);
  return with_marked(near, global_q_ ? marked : marked_of(marked.marks, q, own), how);
}

// Of [B*W,M,H,D].
Var Attention::attend_in_windows(const Var& q, const KeysAndValues& own, const Pass& pass) const {
  const int64_t samples = pass.batch->size();
  ops::AttentionArguments how = arguments(q.shape()[2], pass);
  windows_->confine(samples, how);
  return ops::attention(q, own.k, own.v, how, windows_->bias(samples));
}

// Turned by positions only after it was hashed, so that what is far away may share a bucket.
Var Attention::attend_hashed(const Var& q, const Var& v, const Pass& pass) const {
  if (pass.cache) return decode_hashed(q, v, pass);
  require(!pass.watcher,
          "tokens see each other by several rounds of hashing where attention.kind=lsh; such "
          "attention cannot be shown");
  const data::Sequence& sequence = pass.sequence();
  const ops::AttentionArguments how = arguments(q.shape()[2], pass);
  const HashedRows rows =
      hashed_->order(hashed_->buckets(q.value(), how.first_head), sequence.segments, q.shape()[1]);
  return (*hashed_)(spec_.rotary ? turned(q, sequence.positions, spec_.waves) : q, v, rows, how);
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
  Var q = queries_of(entered, pass);
  if (hashes()) {
    const Var v = in_heads(v_(entered, pass), spec_.head_width);
    leave_shards(all, x, pass);
    return out_(in_rows(attend_hashed(q, v, pass)), pass);
  }
  KeysAndValues seen = looks_elsewhere() ? of_memory(beside.memory, pass) : made_of(entered, pass);
  const Marked marked = marks() && !pass.cache ? marked_in(entered, pass) : Marked();
  leave_shards(all, x, pass);
  turn(q, seen, pass.sequence().positions, pass.sequence().positions);
  const Var y = looks_elsewhere() ? look(q, seen, pass)
                : windows_        ? attend_in_windows(q, seen, pass)
                                  : attend(q, seen, beside.bias, marked, pass);
  const Var read = in_rows(y);
  return out_(windows_ ? windows_->joined(read) : read, pass);
}

}  // namespace skein
