#include "skein/nn/stack.h"

#include <optional>

#include "skein/core/where.h"
#include "skein/ops/recompute.h"

namespace skein {
namespace {

std::string block_name(int number) { return fmt::format("block.{}", number); }

NormSpec norm_spec(NormSpec spec, int number, const char* name) {
  spec.name = block_name(number) + name;
  return spec;
}

AttentionSpec attention_spec(AttentionSpec spec, int number) {
  spec.name = block_name(number) + ".attention";
  spec.block = number;
  return spec;
}

MlpSpec mlp_spec(MlpSpec spec, int number) {
  spec.name = block_name(number) + ".mlp";
  return spec;
}

}  // namespace

Block::Block(Parameters& parameters, int number, const BlockSpec& spec)
    : number_(number),
      name_(block_name(number)),
      placement_(spec.placement),
      dropout_(spec.dropout),
      norm_1_(parameters, norm_spec(spec.norm, number, ".norm_1")),
      attention_(parameters, attention_spec(spec.attention, number)),
      norm_2_(parameters, norm_spec(spec.norm, number, ".norm_2")),
      mlp_(parameters, mlp_spec(spec.mlp, number)) {}

Var Block::pre_norm(const Var& x, const Pass& pass) const {
  const Within here = Within::part(name_.c_str());
  const auto [middle, entered] = joined(x, attention_(norm_1_(x), {}, pass), norm_2_, pass, 1);
  return joined(middle, mlp_(entered, pass), pass, 2);
}

Var Block::attention_half(const Var& x, const Pass& pass) const {
  const Within here = Within::part(name_.c_str());
  if (placement_ == NormPlacement::pre) return joined(x, attention_(norm_1_(x), {}, pass), pass, 1);
  return joined(x, attention_(x, {}, pass), norm_1_, pass, 1).normed;
}

Var Block::mlp_half(const Var& x, const Pass& pass) const {
  const Within here = Within::part(name_.c_str());
  if (placement_ == NormPlacement::pre) return joined(x, mlp_(norm_2_(x), pass), pass, 2);
  return joined(x, mlp_(x, pass), norm_2_, pass, 2).normed;
}

// A branch's value is needed by nobody once it is added.
Var Block::joined(const Var& x, const Var& branch, const Pass& pass, int place) const {
  const Var dropped = residual_dropout(branch, pass, dropout_, number_, place);
  const Var sum = ops::add(x, dropped);
  branch.drop_value();
  dropped.drop_value();
  return sum;
}

ops::Joined Block::joined(const Var& x, const Var& branch, const NormLayer& norm, const Pass& pass,
                          int place) const {
  const Var dropped = residual_dropout(branch, pass, dropout_, number_, place);
  const ops::Joined made = norm.joined(x, dropped);
  branch.drop_value();
  dropped.drop_value();
  return made;
}

Var Block::operator()(const Var& x, const Pass& pass) const {
  if (pass.recompute == Recompute::selective) {
    const Var middle =
        ops::recompute(x, [this, pass](const Var& in) { return attention_half(in, pass); });
    return ops::recompute(middle, [this, pass](const Var& in) { return mlp_half(in, pass); });
  }
  return placement_ == NormPlacement::pre ? pre_norm(x, pass)
                                          : mlp_half(attention_half(x, pass), pass);
}

Var residual_dropout(const Var& x, const Pass& pass, double probability, int block, int place) {
  if (!pass.train || probability <= 0) return x;
  const int64_t first = pass.sequence_parallel ? pass.tp->rank() * x.shape()[1] : 0;
  return ops::dropout(x,
                      {probability, pass.dropout_key(block, place), pass.batch->sample_ids, first});
}

Stack::Stack(Parameters& parameters, int first, int last, int chunk, const BlockSpec& spec) {
  for (int number = first; number < last; ++number) {
    parameters.enter(block_name(number), chunk);
    blocks_.emplace_back(parameters, number, spec);
  }
}

Var Stack::operator()(Var x, const Pass& pass) const {
  for (const Block& block : blocks_) {
    std::optional<NoGrad> frozen;
    if (!block.learns() && !x.needs_gradient()) frozen.emplace();
    if (pass.recompute == Recompute::full)
      x = ops::recompute(x, [&block, pass](const Var& in) { return block(in, pass); });
    else
      x = block(x, pass);
  }
  return x;
}

}  // namespace skein
