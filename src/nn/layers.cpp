#include "skein/nn/layers.h"

#include "skein/ops/collective.h"
#include "skein/ops/linear.h"

namespace skein {

Linear::Linear(Parameters& parameters, const LinearSpec& spec) : split_(spec.split) {
  weight_ = parameters.add({.name = spec.name + ".weight",
                            .shape = {spec.outputs, spec.inputs},
                            .split = spec.split,
                            .start = {Start::normal, spec.deviation},
                            .rate = spec.rate,
                            .meets = spec.meets});
  if (!spec.bias) return;
  const Split bias_split = spec.split == Split::columns ? Split::columns : Split::none;
  const bool sees_slice = spec.sequence_parallel && spec.split == Split::rows;
  bias_ =
      parameters.add({spec.name + ".bias", {spec.outputs}, bias_split, {Start::zeros}, sees_slice});
}

Var Linear::operator()(const Var& x, const Pass& pass, std::optional<ops::Activation> f) const {
  if (split_ != Split::rows || pass.tp->size() == 1) return ops::linear(x, weight_, bias_, f);
  SKEIN_CHECK(!f);
  const Var part = ops::linear(x, weight_, {});
  const Var sum = pass.sequence_parallel ? ops::reduce_scatter_sequence(part, *pass.tp)
                                         : ops::reduce_from_shards(part, *pass.tp);
  part.drop_value();
  if (!bias_.defined()) return sum;
  const Var out = ops::add_bias(sum, bias_);
  sum.drop_value();
  return out;
}

Var enter_shards(const Var& x, const Pass& pass) {
  return pass.sequence_parallel ? ops::gather_sequence(x, *pass.tp)
                                : ops::copy_to_shards(x, *pass.tp);
}

void leave_shards(const Var& entered, const Var& x, const Pass& pass) {
  if (pass.sequence_parallel) ops::gather_again(entered, x, *pass.tp);
}

Var all_positions(const Var& x, const Pass& pass) {
  return pass.sequence_parallel ? ops::gather_sequence_alike(x, *pass.tp) : x;
}

Var counted_once(const Var& x, const Pass& pass) { return ops::once(x, *pass.tp); }

NormLayer::NormLayer(Parameters& parameters, const NormSpec& spec)
    : kind_(spec.kind), epsilon_(spec.epsilon) {
  const Start::Kind start = kernels::gain_center(spec.kind) == 1 ? Start::zeros : Start::ones;
  gain_ = parameters.add(
      {spec.name + ".gain", {spec.width}, Split::none, {start}, spec.sequence_parallel});
  if (spec.kind == ops::Norm::layer && spec.bias)
    bias_ = parameters.add(
        {spec.name + ".bias", {spec.width}, Split::none, {Start::zeros}, spec.sequence_parallel});
}

Var NormLayer::operator()(const Var& x) const {
  return ops::norm(x, kind_, gain_, bias_, epsilon_);
}

ops::SumAndNorm NormLayer::joined(const Var& x, const Var& branch) const {
  return ops::add_norm(x, branch, kind_, gain_, bias_, epsilon_);
}

namespace {

// Up, and the gate.
LinearSpec into_hidden(const MlpSpec& spec, const char* name) {
  return {spec.name + name,       spec.width, spec.hidden,
          Split::columns,         spec.bias,  spec.in_deviation,
          spec.sequence_parallel, spec.rate};
}

// Besides the result of each product that of the activation, or of the gate.
int64_t kept_widths(MlpKind kind) { return is_gated(kind) ? 3 : 2; }

}  // namespace

bool is_gated(MlpKind kind) {
  switch (kind) {
    case MlpKind::swiglu:
    case MlpKind::geglu_tanh:
    case MlpKind::geglu_erf:
    case MlpKind::reglu: return true;
    case MlpKind::gelu_tanh:
    case MlpKind::gelu_erf:
    case MlpKind::relu:
    case MlpKind::silu: break;
  }
  return false;
}

ops::Activation activation_of(MlpKind kind) {
  switch (kind) {
    case MlpKind::gelu_tanh:
    case MlpKind::geglu_tanh: return ops::Activation::gelu_tanh;
    case MlpKind::gelu_erf:
    case MlpKind::geglu_erf: return ops::Activation::gelu_erf;
    case MlpKind::relu:
    case MlpKind::reglu: return ops::Activation::relu;
    case MlpKind::silu:
    case MlpKind::swiglu: break;
  }
  return ops::Activation::silu;
}

Mlp::Mlp(Parameters& parameters, const MlpSpec& spec)
    : spec_(spec),
      up_(parameters, into_hidden(spec, ".up")),
      down_(parameters, {spec.name + ".down", spec.hidden, spec.width, Split::rows, spec.bias,
                         spec.out_deviation, spec.sequence_parallel, spec.rate}) {
  if (is_gated(spec.kind)) gate_.emplace_back(parameters, into_hidden(spec, ".gate"));
  parameters.add_cost(KeptCost{.split = kept_widths(spec.kind) * spec.hidden});
}

// Every rank holds its columns of all positions, and the mask is that of the whole rows.
Var Mlp::dropped(const Var& hidden, const Pass& pass) const {
  if (!pass.train || spec_.dropout <= 0) return hidden;
  const int64_t columns = hidden.shape()[2];
  const ops::DropoutMask mask{spec_.dropout,
                              pass.dropout_key(spec_.block, spec_.dropout_site),
                              pass.batch->sample_ids,
                              0,
                              pass.tp->rank() * columns,
                              spec_.hidden};
  const Var made = ops::dropout(hidden, mask);
  hidden.drop_value();
  return made;
}

Var Mlp::operator()(const Var& x, const Pass& pass) const {
  const Var entered = enter_shards(x, pass);
  const ops::Activation f = activation_of(spec_.kind);
  Var hidden;
  if (gate_.empty()) {
    hidden = up_(entered, pass, f);
  } else {
    const Var up = up_(entered, pass);
    hidden = ops::gated(gate_[0](entered, pass), up, f);
  }
  leave_shards(entered, x, pass);
  return down_(dropped(hidden, pass), pass);
}

}  // namespace skein
