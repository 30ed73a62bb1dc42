#include "skein/nn/stack.h"

#include <optional>

#include "skein/core/where.h"
#include "skein/nn/attention_watcher.h"
#include "skein/ops/recompute.h"

namespace skein {
namespace {

std::string block_name(int number) { return fmt::format("block.{}", number); }

template <class Spec>
Spec within_block(Spec spec, int block) {
  spec.name = block_name(block) + "." + spec.name;
  return spec;
}

// Dropout sites of a block: -i is within sublayer i (the weights of its attention, or what enters
// its last product), 1 + i its result, kSkips + i whether samples go past it.
constexpr int kSkips = 1 << 16;

template <class Branch>
Branch within_block(Branch spec, int block, int number) {
  spec.block = block;
  spec.dropout_site = -number;
  return within_block(spec, block);
}

std::variant<Attention, Mlp, LinkAttention> made_branch(Parameters& parameters,
                                                        const SublayerSpec& spec, int block,
                                                        int number) {
  if (const auto* links = std::get_if<LinkAttentionSpec>(&spec.branch))
    return LinkAttention(parameters, within_block(*links, block, number));
  if (const auto* attention = std::get_if<AttentionSpec>(&spec.branch))
    return Attention(parameters, within_block(*attention, block, number));
  return Mlp(parameters, within_block(std::get<MlpSpec>(spec.branch), block, number));
}

}  // namespace

void give_skips(std::span<BlockSpec> blocks, int64_t first, int64_t all, double most) {
  for (BlockSpec& block : blocks) {
    const double along = all > 1 ? static_cast<double>(first++) / static_cast<double>(all - 1) : 0;
    for (SublayerSpec& sublayer : block.sublayers) sublayer.skip = most * along;
  }
}

BlockSpec attention_and_mlp(const AttentionSpec& attention, const MlpSpec& mlp,
                            const NormSpec& norm, NormPlacement placement, double dropout) {
  BlockSpec made{{{norm, attention, dropout}, {norm, mlp, dropout}}, placement};
  made.sublayers[0].norm.name = "norm_1";
  std::get<AttentionSpec>(made.sublayers[0].branch).name = "attention";
  made.sublayers[1].norm.name = "norm_2";
  std::get<MlpSpec>(made.sublayers[1].branch).name = "mlp";
  if (placement != NormPlacement::sandwich) return made;
  for (SublayerSpec& sublayer : made.sublayers) {
    sublayer.result_norm = sublayer.norm;
    sublayer.result_norm->name = "result_" + sublayer.norm.name;
  }
  return made;
}

BlockSpec links_and_mlp(const LinkAttentionSpec& links, const MlpSpec& mlp, const NormSpec& norm,
                        NormPlacement placement, double dropout) {
  BlockSpec made = attention_and_mlp({}, mlp, norm, placement, dropout);
  made.sublayers[0].branch = links;
  std::get<LinkAttentionSpec>(made.sublayers[0].branch).name = "links";
  return made;
}

Sublayer::Sublayer(Parameters& parameters, const SublayerSpec& spec, int block, int number)
    : block_(block),
      number_(number),
      dropout_(spec.dropout),
      skip_(spec.skip),
      norm_(parameters, within_block(spec.norm, block)),
      branch_(made_branch(parameters, spec, block, number)) {
  parameters.add_cost(KeptCost{.whole = 2 * spec.norm.width, .input = spec.norm.width});
  if (!spec.result_norm) return;
  result_norm_.emplace(parameters, within_block(*spec.result_norm, block));
  parameters.add_cost(KeptCost{.whole = spec.result_norm->width});
}

Var Sublayer::skipped(const Var& branch, const Pass& pass) const {
  if (!pass.train || skip_ <= 0) return branch;
  ops::DropoutMask mask{skip_, pass.dropout_key(block_, kSkips + number_), pass.batch->sample_ids};
  mask.whole_samples = true;
  const Var made = ops::dropout(branch, mask);
  branch.drop_value();
  return made;
}

Var Sublayer::branched(const Var& entered, const SideInputs& beside, const Pass& pass) const {
  if (const auto* attention = std::get_if<Attention>(&branch_))
    return (*attention)(entered, beside, pass);
  if (const auto* mlp = std::get_if<Mlp>(&branch_)) return (*mlp)(entered, pass);
  SKEIN_CHECK(beside.graph != nullptr);
  return std::get<LinkAttention>(branch_)(entered, *beside.graph, pass);
}

// The backward pass of a norm needs what the norm was of.
Var Sublayer::finished(const Var& branch, const Pass& pass) const {
  const Var normed = result_norm_ ? (*result_norm_)(branch) : branch,
            kept = residual_dropout(normed, pass, dropout_, block_, 1 + number_);
  if (result_norm_ && pass.train && dropout_ > 0) normed.drop_value();
  return skipped(kept, pass);
}

// The branch's value is needed by nobody once it is added. Where norms stand behind sums, or
// another sublayer follows, there is a norm.
ops::SumAndNorm Sublayer::operator()(const Var& x, const Var& entered, const NormLayer* next_norm,
                                     const SideInputs& beside, const Pass& pass) const {
  const Var branch = branched(entered, beside, pass);
  const Var dropped = finished(branch, pass);
  const ops::SumAndNorm made =
      next_norm ? next_norm->joined(x, dropped) : ops::SumAndNorm{ops::add(x, dropped), {}};
  if (!result_norm_) branch.drop_value();
  dropped.drop_value();
  if (pass.watcher) {
    const Var& left = made.normed.defined() ? made.normed : made.sum;
    pass.watcher->see(SeenStates{block_, left.value(), *pass.batch});
  }
  return made;
}

Block::Block(Parameters& parameters, int number, const BlockSpec& spec)
    : name_(block_name(number)), placement_(spec.placement), parallel_(spec.parallel) {
  SKEIN_CHECK(!spec.sublayers.empty());
  SKEIN_CHECK(!parallel_ || placement_ == NormPlacement::pre);
  if (spec.merging) merging_.emplace(parameters, name_ + ".merging", *spec.merging);
  for (size_t i = 0; i < spec.sublayers.size(); ++i)
    sublayers_.emplace_back(parameters, spec.sublayers[i], number, static_cast<int>(i));
}

// Sublayers [first, last). Before a branch, the norm of the sum that the sublayer before it made is
// made in one pass with that sum; the first one's is made here.
Var Block::run(size_t first, size_t last, const Var& in, const SideInputs& beside,
               const Pass& pass) const {
  const WhereScope here = WhereScope::part(name_.c_str());
  const bool pre = placement_ != NormPlacement::post;
  Var x = in, entered = pre ? sublayers_[first].norm()(in) : in;
  for (size_t i = first; i < last; ++i) {
    const size_t next = pre ? i + 1 : i;
    const NormLayer* norm = next < last ? &sublayers_[next].norm() : nullptr;
    const auto [sum, normed] = sublayers_[i](x, entered, norm, beside, pass);
    x = pre ? sum : normed;
    entered = normed;
  }
  return x;
}

Var Block::added(const Var& x, size_t sublayer, const Var& in, const SideInputs& beside,
                 const Pass& pass) const {
  const WhereScope here = WhereScope::part(name_.c_str());
  const Sublayer& one = sublayers_[sublayer];
  return one(x, one.norm()(in), nullptr, beside, pass).sum;
}

Var Block::run_parallel(const Var& in, const SideInputs& beside, const Pass& pass) const {
  Var x = in;
  for (size_t i = 0; i < sublayers_.size(); ++i)
    x = pass.recompute != Recompute::selective
            ? added(x, i, in, beside, pass)
            : ops::recompute(
                  {x, in, beside.memory, beside.bias},
                  [this, i, pass, graph = beside.graph](const std::vector<Var>& given) {
                    return added(given[0], i, given[1], {given[2], given[3], graph}, pass);
                  });
  return x;
}

Var Block::operator()(const Var& given, const SideInputs& beside, const Pass& pass) const {
  const Var in = merging_ ? (*merging_)(given, pass) : given;
  const SideInputs seen{ops::one_use(beside.memory), ops::one_use(beside.bias), beside.graph};
  if (parallel_) return run_parallel(in, seen, pass);
  if (pass.recompute != Recompute::selective) return run(0, sublayers_.size(), in, seen, pass);
  Var x = in;
  for (size_t i = 0; i < sublayers_.size(); ++i)
    x = ops::recompute({x, seen.memory, seen.bias},
                       [this, i, pass, graph = seen.graph](const std::vector<Var>& given) {
                         return run(i, i + 1, given[0], {given[1], given[2], graph}, pass);
                       });
  return x;
}

Var residual_dropout(const Var& x, const Pass& pass, double probability, int block, int site) {
  if (!pass.train || probability <= 0) return x;
  const int64_t first = pass.sequence_parallel ? pass.tp->rank() * x.shape()[1] : 0;
  return ops::dropout(x,
                      {probability, pass.dropout_key(block, site), pass.batch->sample_ids, first});
}

namespace {

// x: what the parameters of the bucket, and of all behind it, are used after.
void tell_when_done(const Var& x, const Pass& pass, int bucket) {
  if (pass.gradients_done) x.on_backward([done = pass.gradients_done, bucket] { done(bucket); });
}

}  // namespace

Stack::Stack(Parameters& parameters, int first, int chunk, std::span<const BlockSpec> blocks) {
  for (const BlockSpec& spec : blocks) {
    const int number = first + static_cast<int>(blocks_.size());
    buckets_.push_back(parameters.enter(block_name(number), chunk,
                                        {Part::block, number, spec.of_source, spec.rows}));
    blocks_.emplace_back(parameters, number, spec);
  }
  buckets_.push_back(static_cast<int>(parameters.buckets().size()));
}

Var Stack::operator()(Var x, const Pass& pass, const SideInputs& beside) const {
  auto bucket = buckets_.begin();
  for (const Block& block : blocks_) {
    tell_when_done(x, pass, *bucket++);
    std::optional<NoGrad> frozen;
    if (!block.learns() && !x.needs_gradient() && !beside.memory.needs_gradient() &&
        !beside.bias.needs_gradient())
      frozen.emplace();
    if (pass.recompute == Recompute::full)
      x = ops::recompute({x, beside.memory, beside.bias},
                         [&block, pass, graph = beside.graph](const std::vector<Var>& given) {
                           return block(given[0], {given[1], given[2], graph}, pass);
                         });
    else
      x = block(x, beside, pass);
  }
  tell_when_done(x, pass, *bucket);
  return x;
}

}  // namespace skein
