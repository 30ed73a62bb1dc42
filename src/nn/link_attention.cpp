#include "skein/nn/link_attention.h"

#include <cmath>

#include "skein/nn/attention_watcher.h"
#include "skein/nn/graph_inputs.h"
#include "skein/ops/attention.h"
#include "skein/ops/embedding.h"
#include "skein/ops/linear.h"
#include "skein/ops/math.h"

namespace skein {
namespace {

LinearSpec projection(const LinkAttentionSpec& spec, const char* name, bool bias) {
  return {spec.name + name,      spec.width, spec.heads * spec.head_width,
          Split::columns,        bias,       spec.in_deviation,
          spec.sequence_parallel};
}

// What multiplies begins with changing nothing.
Start start_of_kinds(const LinkAttentionSpec& spec) {
  if (spec.numbers == LinkNumbers::multiplied) return {Start::ones};
  return {Start::normal, spec.in_deviation};
}

// In terms of attention's scores and sums, of which each is one pass over the links' columns.
double passes(LinkScore score) {
  switch (score) {
    case LinkScore::dot: return 1;
    case LinkScore::gat2: return 1.5;
    case LinkScore::gat:
    case LinkScore::none: break;
  }
  return 0.5;
}

// Results of products, and what each node gathers.
int64_t kept_widths(const LinkAttentionSpec& spec) {
  const int64_t v = spec.gathers_input ? 0 : 1;
  switch (spec.score) {
    case LinkScore::dot: return v + 3;
    case LinkScore::gat2: return v + 2;
    case LinkScore::gat:
    case LinkScore::none: break;
  }
  return v + 1;
}

// Numbers of a link that each head keeps: its weight and, where there are some, what is added to
// its score.
double kept_of_links(const LinkAttentionSpec& spec) {
  const double numbers = spec.kinds > 0 || spec.values > 0 ? 2 : 0,
               drops = spec.dropout > 0 ? 1 : 0;
  return spec.score == LinkScore::none ? 0 : 1 + numbers + drops;
}

void add_costs(Parameters& parameters, const LinkAttentionSpec& spec) {
  const int64_t width = spec.heads * spec.head_width;
  const double hops = spec.hops > 0 ? 0.5 * (spec.hops - 1) : 0,
               seen = (passes(spec.score) + hops) * spec.links_per_row;
  parameters.add_cost(ScoreCost{.width = width, .structure = [seen](int64_t) { return seen; }});
  const DType dtype = parameters.dtype();
  const double sums = static_cast<double>(size_of(gradient_dtype(dtype))) /
                      static_cast<double>(size_of(dtype)),
               of_links = kept_of_links(spec) * sums * spec.links_per_row;
  parameters.add_cost(KeptCost{
      .split = (kept_widths(spec) + 2 * spec.hops) * width +
               static_cast<int64_t>(std::ceil(of_links * static_cast<double>(spec.heads)))});
}

// Rows of a sample whose gradient of a score is summed as one: a single sum over a large graph
// would keep one thread at work.
constexpr int64_t kPiece = 256;

// From each row of samples of `length` rows to its piece.
ops::Links links_to_pieces(int64_t samples, int64_t length) {
  const int64_t pieces = (length + kPiece - 1) / kPiece;
  std::vector<int64_t> starts{0}, piece;
  for (int64_t r = 0; r < samples * length; ++r) {
    piece.push_back(r / length * pieces + r % length / kPiece);
    starts.push_back(r + 1);
  }
  return kernels::make_links(starts, piece, samples * pieces);
}

// Of all heads the first one that this rank has, of `heads`.
int64_t first_head(const LinkAttentionSpec& spec, int64_t heads, const Pass& pass) {
  return spec.score != LinkScore::none && heads < spec.heads ? pass.tp->rank() * heads : 0;
}

void tell_watcher(const LinkAttentionSpec& spec, const Var& weights, const ops::Links& links,
                  const Pass& pass) {
  if (!pass.watcher || !weights.defined()) return;
  pass.watcher->see(SeenLinks{spec.block, weights.value(), links, *pass.batch,
                              first_head(spec, weights.shape()[1], pass)});
}

// 0, step, 2 step, ..., last
std::vector<int64_t> counted(int64_t last, int64_t step) {
  std::vector<int64_t> made;
  for (int64_t i = 0; i <= last; i += step) made.push_back(i);
  return made;
}

}  // namespace

LinkAttention::LinkAttention(Parameters& parameters, const LinkAttentionSpec& spec)
    : spec_(spec), dtype_(parameters.dtype()) {
  require(spec.merge == LinkHeads::projected || parameters.shards() == 1,
          "{}: heads that are not projected do not divide by parallel.tensor={}; set "
          "parallel.tensor=1",
          spec.name, parameters.shards());
  if (!spec.gathers_input)
    v_.emplace(parameters, projection(spec, ".v", spec.bias && spec.score != LinkScore::gat));
  SKEIN_CHECK(v_ || (spec.width == spec.heads * spec.head_width && parameters.shards() == 1));
  const auto score = [&](const char* name) -> Weight {
    return parameters.add({.name = spec.name + name,
                           .shape = {spec.heads, spec.head_width},
                           .split = Split::columns,
                           .start = {Start::normal, spec.in_deviation}});
  };
  if (spec.score == LinkScore::dot || spec.score == LinkScore::gat2)
    q_.emplace(parameters, projection(spec, ".q", spec.bias));
  if (spec.score == LinkScore::dot) k_.emplace(parameters, projection(spec, ".k", spec.bias));
  if (spec.score == LinkScore::gat2) row_score_ = score(".score");
  if (spec.score == LinkScore::gat) {
    row_score_ = score(".row_score");
    column_score_ = score(".column_score");
  }
  const int64_t heads = spec.merge == LinkHeads::averaged ? 1 : spec.heads;
  if (spec.merge == LinkHeads::projected)
    out_.emplace(parameters,
                 LinearSpec{spec.name + ".out", spec.heads * spec.head_width, spec.width,
                            Split::rows, spec.bias, spec.out_deviation, spec.sequence_parallel});
  else if (spec.bias)
    bias_ = parameters.add({.name = spec.name + ".bias", .shape = {heads * spec.head_width}});
  if (spec.kinds > 0)
    kinds_ = parameters.add({.name = spec.name + ".kinds.weight",
                             .shape = {spec.kinds, spec.heads},
                             .split = Split::rows,
                             .start = start_of_kinds(spec),
                             .meets = RowKind::looked_up});
  if (spec.values > 0)
    values_.emplace(parameters,
                    LinearSpec{.name = spec.name + ".values",
                               .inputs = spec.values,
                               .outputs = spec.heads,
                               .split = Split::columns,
                               .deviation = 1 / std::sqrt(static_cast<double>(spec.values)),
                               .meets = RowKind::none});
  add_costs(parameters, spec);
}

// [B,T,N] -> [B*T,H,D]
Var LinkAttention::heads_of(const Var& rows) const {
  return ops::reshape(rows, {rows.shape()[0] * rows.shape()[1], rows.shape()[2] / spec_.head_width,
                             spec_.head_width});
}

bool LinkAttention::adds_inside(const Var& numbers) const {
  return numbers.defined() && spec_.score == LinkScore::gat && spec_.numbers == LinkNumbers::added;
}

// [B*T,H,1]: the product of each node's heads with the score's. Every piece of a sample has a copy
// of these, so that their gradient is a sum over pieces, sample by sample.
Var LinkAttention::node_scores(const Var& v, const Weight& score, const ops::Links& pieces) const {
  const int64_t heads = score.value().dim(0);
  const Tensor ids = Tensor::empty({pieces.column_count(), heads}, DType::i32);
  for (int64_t i = 0; i < ids.size(); ++i) ids.data<int32_t>()[i] = static_cast<int32_t>(i % heads);
  const Var copies = ops::embedding(ids.to(v.value().device()), score, 0);
  return ops::reshape(ops::link_dot(v, copies, pieces, 1), {pieces.row_count(), heads, 1});
}

Var LinkAttention::scores(const Var& entered, const Var& v, const ops::Links& links,
                          const Var& numbers, const Pass& pass) const {
  if (spec_.score == LinkScore::gat) {
    const ops::Links pieces =
        links_to_pieces(entered.shape()[0], entered.shape()[1]).to(v.value().device());
    return ops::link_additive(
        {node_scores(v, row_score_, pieces), node_scores(v, column_score_, pieces),
         adds_inside(numbers) ? ops::reshape(numbers, {numbers.shape()[0], numbers.shape()[1], 1})
                              : Var()},
        {}, links, spec_.slope);
  }
  const Var q = heads_of((*q_)(entered, pass));
  if (spec_.score == LinkScore::gat2)
    return ops::link_additive({q, v}, row_score_, links, spec_.slope);
  return ops::link_dot(q, heads_of((*k_)(entered, pass)), links,
                       1 / std::sqrt(static_cast<double>(spec_.head_width)));
}

Var LinkAttention::weights(const Var& scores, const ops::Links& links, const Var& numbers) const {
  Var a = scores;
  if (numbers.defined() && !adds_inside(numbers))
    a = spec_.numbers == LinkNumbers::added ? ops::add(scores, numbers)
                                            : ops::link_product(scores, numbers);
  const Var made = ops::link_softmax(a, links);
  a.drop_value();  // backward is of the weights
  return made;
}

Var LinkAttention::spread(const Var& v, const ops::Links& links, const Var& weights) const {
  if (spec_.hops == 0) return ops::gather_sum(v, links, weights);
  const Var start = ops::scale(v, spec_.teleport);
  Var z = v;
  for (int hop = 0; hop < spec_.hops; ++hop)
    z = ops::add(ops::scale(ops::gather_sum(z, links, weights), 1 - spec_.teleport), start);
  return z;
}

// y [B*T,H,D]
Var LinkAttention::merged(const Var& y, const Var& rows, const Pass& pass) const {
  const int64_t samples = rows.shape()[0], length = rows.shape()[1], nodes = samples * length;
  if (spec_.merge != LinkHeads::averaged) {
    const Var flat = ops::reshape(y, {samples, length, y.value().size() / nodes});
    if (out_) return (*out_)(flat, pass);
    return bias_.defined() ? ops::add_bias(flat, bias_) : flat;
  }
  const int64_t all = nodes * spec_.heads;
  const ops::Links of_node =
      kernels::make_links(counted(all, spec_.heads), counted(all - 1, 1), all)
          .to(y.value().device());
  const Var heads = ops::reshape(y, {all, 1, spec_.head_width}),
            mean = ops::scale(ops::gather_sum(heads, of_node), 1.0 / spec_.heads),
            flat = ops::reshape(mean, {samples, length, spec_.head_width});
  return bias_.defined() ? ops::add_bias(flat, bias_) : flat;
}

// Each head's weights have places of their own in a link's stream, whichever rank has the head.
Var LinkAttention::dropped(const Var& weights, const Tensor& keys, const Pass& pass) const {
  if (!pass.train || spec_.dropout <= 0 || !keys.defined()) return weights;
  const int64_t links = weights.shape()[0], heads = weights.shape()[1];
  ops::DropoutMask mask{spec_.dropout, pass.dropout_key(spec_.block, spec_.dropout_site), keys};
  mask.first_position = first_head(spec_, heads, pass);
  return ops::reshape(ops::dropout(ops::reshape(weights, {links, heads, 1}), mask), {links, heads});
}

// [E,H/t] of what is known of links; undefined where that is nothing.
Var LinkAttention::numbers_of(const GraphInputs& graph, const Pass& pass) const {
  if (graph.pairs.ids.defined())
    return ops::link_pick(sums_of(graph.pairs, kinds_, Var(graph.pairs.weights)), graph.places,
                          ops::LinkEnd::column);
  const data::Batch& batch = *pass.batch;
  Var of_places;  // [B,L,H/t]
  if (kinds_.defined()) of_places = ops::embedding(batch.link_kinds, kinds_, 0);
  if (values_) {
    const Var made = (*values_)(Var(ops::converted(batch.link_values, dtype_)), pass);
    of_places = of_places.defined() ? ops::add(of_places, made) : made;
  }
  if (!of_places.defined()) return {};
  const Shape& shape = of_places.shape();
  return ops::link_pick(ops::reshape(of_places, {shape[0] * shape[1], shape[2]}), graph.places,
                        ops::LinkEnd::column);
}

Var LinkAttention::operator()(const Var& x, const GraphInputs& graph, const Pass& pass) const {
  const Var numbers = spec_.score != LinkScore::none ? numbers_of(graph, pass)
                      : graph.weights.defined()      ? Var(graph.weights)
                                                     : Var();
  return (*this)(x, graph.links, numbers, pass, graph.keys);
}

Var LinkAttention::operator()(const Var& x, const ops::Links& links, const Var& numbers,
                              const Pass& pass, const Tensor& keys) const {
  const Var entered = enter_shards(x, pass), rows = v_ ? (*v_)(entered, pass) : entered;
  if (spec_.score == LinkScore::none) {
    leave_shards(entered, x, pass);
    tell_watcher(spec_, numbers, links, pass);
    const int64_t nodes = rows.shape()[0] * rows.shape()[1],
                  heads = numbers.defined() ? numbers.shape()[1] : 1;
    const Var w = numbers.defined() ? dropped(numbers, keys, pass) : numbers;
    return merged(spread(ops::reshape(rows, {nodes, heads, rows.shape()[2] / heads}), links, w),
                  rows, pass);
  }
  const Var v = heads_of(rows), a = scores(entered, v, links, numbers, pass);
  leave_shards(entered, x, pass);
  const Var w = weights(a, links, numbers);
  tell_watcher(spec_, w, links, pass);
  return merged(spread(v, links, dropped(w, keys, pass)), rows, pass);
}

namespace {

template <class F>
Tensor weighed(const ops::Links& links, DType dtype, const F& weight_of) {
  std::vector<double> made;
  for (int64_t e = 0; e < links.size(); ++e)
    made.push_back(weight_of(links.rows.data<int32_t>()[e], links.columns.data<int32_t>()[e]));
  return Tensor::from(made, {links.size(), 1}).to(dtype);
}

double links_of_row(const ops::Links& links, int32_t row) {
  const int32_t* start = links.starts.data<int32_t>() + row;
  return start[1] - start[0];
}

}  // namespace

Tensor mean_of_links(const ops::Links& links, DType dtype) {
  return weighed(links, dtype, [&](int32_t row, int32_t) { return 1 / links_of_row(links, row); });
}

Tensor symmetric_weights(const ops::Links& links, DType dtype) {
  SKEIN_CHECK_EQ(links.row_count(), links.column_count());
  return weighed(links, dtype, [&](int32_t row, int32_t column) {
    const double there = links_of_row(links, column);
    return there > 0 ? 1 / std::sqrt(links_of_row(links, row) * there) : 0;
  });
}

}  // namespace skein
