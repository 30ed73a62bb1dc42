#include "skein/ops/loss.h"

#include "skein/kernels/elementwise.h"
#include "skein/kernels/matmul.h"
#include "skein/kernels/memory_rules.h"

#include "by_group.h"
#include "checks.h"
#include "made.h"

namespace skein::ops {
namespace {

// For a number of each row of x in the accumulator type, [M].
Tensor sums_of_rows(const Tensor& x) { return x.like({x.dim(0)}, gradient_dtype(x.dtype())); }

// Elements [begin, begin + count), or rows of a matrix; undefined where `of` is.
Tensor part(const Tensor& of, int64_t begin, int64_t count) {
  return of.defined() ? of.rows(begin, begin + count) : Tensor();
}

kernels::PolicyOuts part(const kernels::PolicyOuts& of, int64_t begin, int64_t count) {
  const auto rows = [&](const Out& one) { return Out(part(*one, begin, count)); };
  return {rows(of.loss),      rows(of.approx_kl), rows(of.clipped), rows(of.ratio),
          rows(of.ratio_off), rows(of.bonus),     rows(of.slopes)};
}

RowExtras part(const RowExtras& of, int64_t begin, int64_t count) {
  RowExtras made{part(of.entropy_weights, begin, count)};
  if (of.policy)
    made.policy = PolicyLoss{of.policy->terms, part(of.policy->known, begin, count),
                             part(of.policy->outs, begin, count)};
  if (of.smoothed)
    made.smoothed =
        SmoothedLoss{of.smoothed->smoothing, Out(part(*of.smoothed->plain, begin, count))};
  return made;
}

struct Chunk {
  Tensor x, targets, row_weights, losses;  // of its rows
  Tensor dx, entropies;                    // undefined where x wants no gradient, or nobody them
  RowExtras extras;
  // Of the head's weight and bias, to be added to; undefined where they do not learn.
  Out weight_gradient, bias_gradient;
};

struct Statistics {
  Tensor maximum, sum_exp, target;
  Tensor sums;  // of all logits, for smoothed targets
};

class Head {
 public:
  Head(const VocabHead& head, int64_t rows)
      : weight_(head.weight),
        bias_(head.bias),
        shard_(head.shard),
        group_(head.group && head.group->size() > 1 ? head.group : nullptr),
        sums_(gradient_dtype(head.weight.value().dtype())) {
    const int64_t ids = weight_.value().dim(0);
    rows_ =
        kernels::rows_of_logits(rows, ids, weight_.value().dtype(), weight_.value().device().kind);
    logits_ = weight_.value().like({rows_, ids}, sums_);
  }
  int64_t rows() const { return rows_; }

  void run(const Chunk& chunk, bool gradients) const {
    const int64_t rows = chunk.x.dim(0);
    const Tensor logits = logits_.rows(0, rows);
    on_device(logits.device(), [&](auto device) {
      kernels::matmul(device, chunk.x, weight_.value(),
                      {.transpose_b = true,
                       .copies_of_b = copies_for(rows),
                       .any_rows = SampleGroups::one_by_one() > 0},
                      Out(logits));
      if (bias_.defined()) kernels::add_bias(device, logits, bias_.value(), Out(logits));
      const Statistics found = statistics(device, logits, chunk);
      find_losses(device, chunk, found);
      if (chunk.entropies.defined()) find_entropies(device, logits, found, Out(chunk.entropies));
      if (const auto& policy = chunk.extras.policy)
        kernels::policy_losses(device, policy->terms, chunk.losses, chunk.row_weights,
                               policy->known, chunk.entropies, policy->outs);
      if (gradients) add_gradients(device, chunk, logits, found);
    });
  }

 private:
  template <class OnDevice>
  Statistics statistics(OnDevice device, const Tensor& logits, const Chunk& chunk) const {
    Statistics made{sums_of_rows(logits), sums_of_rows(logits), sums_of_rows(logits), {}};
    if (group_) {
      find_shared(device, logits, chunk.targets, made);
    } else {
      kernels::row_statistics(device, logits, shard_.valid, chunk.targets, Out(made.maximum),
                              Out(made.sum_exp), Out(made.target));
    }
    if (!chunk.extras.smoothed) return made;
    made.sums = sums_of_rows(logits);
    kernels::row_sums(device, logits, shard_.valid, made.maximum, Out(made.sums));
    if (group_) group_->all_reduce_sum(made.sums).wait();
    return made;
  }

  template <class OnDevice>
  void find_shared(OnDevice device, const Tensor& logits, const Tensor& targets,
                   const Statistics& into) const {
    kernels::row_maximum(device, logits, shard_.valid, Out(into.maximum));
    group_->all_reduce_max(into.maximum).wait();
    kernels::row_sum_exp(device, logits, shard_, into.maximum, targets, Out(into.sum_exp),
                         Out(into.target));
    group_->all_reduce_sum(into.sum_exp).wait();
    group_->all_reduce_sum(into.target).wait();
  }

  template <class OnDevice>
  void find_losses(OnDevice device, const Chunk& chunk, const Statistics& found) const {
    const auto& smoothed = chunk.extras.smoothed;
    const Tensor& plain = smoothed ? *smoothed->plain : chunk.losses;
    if (plain.defined()) kernels::row_losses(device, found.sum_exp, found.target, Out(plain));
    if (smoothed)
      kernels::smoothed_losses(device, found.sum_exp, found.target, found.sums, smoothed->smoothing,
                               Out(chunk.losses));
  }

  template <class OnDevice>
  void find_entropies(OnDevice device, const Tensor& logits, const Statistics& found,
                      Out entropies) const {
    const Tensor moment = sums_of_rows(logits);
    kernels::row_exp_moment(device, logits, shard_.valid, found.maximum, Out(moment));
    if (group_) group_->all_reduce_sum(moment).wait();
    kernels::row_entropies(device, found.sum_exp, moment, entropies);
  }

  // A short last chunk alone is not worth copies of the largest weight.
  kernels::PackedCopies* copies_for(int64_t rows) const {
    return rows == rows_ ? weight_.packed() : nullptr;
  }

  template <class OnDevice>
  void add_gradients(OnDevice device, const Chunk& chunk, const Tensor& logits,
                     const Statistics& found) const {
    const DType dtype = chunk.x.dtype();
    const Tensor dlogits = dtype == sums_ ? logits : logits.like(logits.shape(), dtype);
    const RowExtras& extras = chunk.extras;
    const Tensor& slopes = extras.policy ? *extras.policy->outs.slopes : chunk.row_weights;
    const kernels::PredictedRows rows{logits, shard_, chunk.targets, found.maximum, found.sum_exp};
    if (extras.entropy_weights.defined())
      kernels::entropic_backward(device, rows, slopes, chunk.entropies, extras.entropy_weights,
                                 Out(dlogits));
    else if (extras.smoothed)
      kernels::smoothed_backward(device, rows, slopes, extras.smoothed->smoothing, Out(dlogits));
    else
      kernels::cross_entropy_backward(device, rows, slopes, Out(dlogits));
    if (chunk.dx.defined())
      kernels::matmul(
          device, dlogits, weight_.value(),
          {.copies_of_b = copies_for(chunk.x.dim(0)), .any_rows = SampleGroups::one_by_one() > 0},
          Out(chunk.dx));
    if (chunk.weight_gradient->defined())
      kernels::matmul(
          device, dlogits, chunk.x,
          {.transpose_a = true, .accumulate = true, .any_rows = SampleGroups::one_by_one() > 0},
          chunk.weight_gradient);
    if (chunk.bias_gradient->defined())
      kernels::bias_backward(device, dlogits, chunk.bias_gradient);
  }

  Weight weight_, bias_;
  VocabShard shard_;
  Group* group_;
  DType sums_;
  int64_t rows_ = 0;
  Tensor logits_;
};

void check_head(const Tensor& x, const VocabHead& head, const Tensor& targets) {
  check_operands("linear_cross_entropy", {{"x", "MC", x},
                                          {"weight", "VC", head.weight.value()},
                                          optional({"bias", "V", head.bias.value()}),
                                          {"targets", "M", targets, DType::i32},
                                          gradient_of("weight's gradient", "VC", head.weight),
                                          gradient_of("bias's gradient", "V", head.bias)});
  const int64_t valid = head.shard.valid, held = head.weight.value().dim(0);
  check(0 <= valid && valid <= held,
        "linear_cross_entropy: shard.valid must be from 0 to the {} rows of the weight, not {}",
        held, valid);
}

void check_known(const char* op, const Tensor& known) {
  check(known.dim(1) == kernels::known::columns, "{}: known must have {} columns: known {}", op,
        int{kernels::known::columns}, known.shape());
}

void check_policy(const Tensor& x, const PolicyLoss& policy, const Tensor& entropies) {
  const DType sums = gradient_dtype(x.dtype());
  const kernels::PolicyOuts& outs = policy.outs;
  check_operands("linear_cross_entropy", {{"x", "MC", x},
                                          {"known", "ME", policy.known, DType::f32},
                                          {"loss", "M", *outs.loss, sums},
                                          {"approx_kl", "M", *outs.approx_kl, sums},
                                          {"clipped", "M", *outs.clipped, sums},
                                          {"ratio", "M", *outs.ratio, sums},
                                          {"ratio_off", "M", *outs.ratio_off, sums},
                                          optional({"bonus", "M", *outs.bonus, sums})});
  check_known("linear_cross_entropy", policy.known);
  check(!outs.bonus->defined() || entropies.defined(),
        "linear_cross_entropy: a bonus needs entropies, which nobody asks for");
}

void check_share(const char* op, double share) {
  check(0 <= share && share < 1, "{}: the share of smoothing must be in [0, 1), not {}", op, share);
}

void check_classes(const Tensor& x, const Tensor& targets,
                   const std::optional<SmoothedLoss>& smoothed) {
  const Tensor plain = smoothed ? *smoothed->plain : Tensor();
  check_operands("cross_entropy", {{"logits", "MN", x},
                                   {"targets", "M", targets, DType::i32},
                                   optional({"plain", "M", plain, gradient_dtype(x.dtype())})});
  if (!smoothed) return;
  const auto [share, ids] = smoothed->smoothing;
  check_share("cross_entropy", share);
  check(ids == x.dim(1), "cross_entropy: smoothing is over {} ids, but logits has {} columns", ids,
        x.dim(1));
}

void check_smoothed(const Tensor& x, const SmoothedLoss& smoothed, int64_t valid,
                    const RowExtras& extras) {
  const auto [share, ids] = smoothed.smoothing;
  check_operands(
      "linear_cross_entropy",
      {{"x", "MC", x}, optional({"plain", "M", *smoothed.plain, gradient_dtype(x.dtype())})});
  check_share("linear_cross_entropy", share);
  check(ids >= valid && ids > 0,
        "linear_cross_entropy: smoothing is over {} ids, but shard.valid is {}", ids, valid);
  check(!extras.policy && !extras.entropy_weights.defined(),
        "linear_cross_entropy: smoothed targets are for rows without policy and entropy_weights");
}

void check_rows(const Tensor& x, const Tensor& row_weights, bool without_weights,
                const Tensor& entropies, const RowExtras& extras) {
  const DType sums = gradient_dtype(x.dtype());
  check_operands("linear_cross_entropy",
                 {{"x", "MC", x},
                  {"row_weights", "M", row_weights, sums, without_weights},
                  optional({"entropies", "M", entropies, sums}),
                  optional({"entropy_weights", "M", extras.entropy_weights, sums})});
  check(!extras.entropy_weights.defined() || entropies.defined(),
        "linear_cross_entropy: entropy_weights need entropies, which nobody asks for");
  if (extras.policy) check_policy(x, *extras.policy, entropies);
}

}  // namespace

Var linear_cross_entropy(const Var& x, const VocabHead& head, const Tensor& targets,
                         const Tensor& row_weights, int64_t sample_rows, const RowExtras& extras,
                         Out entropies) {
  const Weight &weight = head.weight, &bias = head.bias;
  const bool gradients = recording() && (x.needs_gradient() || weight.learns() || bias.learns());
  check_head(x.value(), head, targets);
  check_rows(x.value(), row_weights, !gradients && !extras.policy, *entropies, extras);
  if (extras.smoothed) check_smoothed(x.value(), *extras.smoothed, head.shard.valid, extras);
  check(sample_rows > 0, "linear_cross_entropy: a sample must have 1 row or more, not {}",
        sample_rows);
  const int64_t rows = x.shape()[0];
  const Tensor losses = sums_of_rows(x.value());
  const Tensor dx = gradients && x.needs_gradient() ? x.value().like() : Tensor();
  RowExtras wanted = extras;
  if (extras.policy && gradients) wanted.policy->outs.slopes = Out(losses.like());
  const Head product(head, gradients ? rows / SampleGroups::count() : rows);
  bool apart = false;
  on_device(losses.device(), [&](auto device) {
    apart = sample_rows % kernels::depth_granule(device, x.value().dtype()) != 0;
  });
  const auto run = [&](int64_t first, int64_t last, const std::vector<Out>& into) {
    for (int64_t row = first, end = 0; row < last; row = end) {
      end = std::min(last, row + product.rows());
      if (apart) end = std::min(end, row / sample_rows * sample_rows + sample_rows);
      const int64_t count = end - row;
      product.run({part(x.value(), row, count), part(targets, row, count),
                   part(row_weights, row, count), part(losses, row, count), part(dx, row, count),
                   part(*entropies, row, count), part(wanted, row, count), into[0], into[1]},
                  gradients);
    }
  };
  if (gradients)
    add_by_group({weight.gradient(), bias.gradient()}, rows, run);
  else
    run(0, rows, {{}, {}});
  return record(extras.policy ? *extras.policy->outs.loss : losses, {x},
                weight.learns() || bias.learns(), [x, dx, row_weights](const Tensor& given) {
                  check(given.device() != Device{} ||
                            std::memcmp(given.bytes_data(), row_weights.bytes_data(),
                                        static_cast<size_t>(given.bytes())) == 0,
                        "linear_cross_entropy: backward was given other row_weights than forward");
                  if (dx.defined()) x.add_gradient(dx);
                });
}

Var stand_in(const Var& x, const Tensor& value, const Tensor& gradient) {
  check_operands("stand_in",
                 {{"x", "...", x.value()}, {"gradient", "=", gradient}, {"value", "...", value}});
  return record(value, {x}, false, [x, gradient](const Tensor&) { x.add_gradient(gradient); });
}

Var cross_entropy(const Var& logits, const Tensor& targets,
                  const std::optional<SmoothedLoss>& smoothed) {
  const Tensor& x = logits.value();
  check_classes(x, targets, smoothed);
  const kernels::PredictedRows rows{x, {0, x.dim(1)}, targets, sums_of_rows(x), sums_of_rows(x)};
  const Tensor target = sums_of_rows(x), losses = sums_of_rows(x), sums = sums_of_rows(x),
               plain = smoothed ? *smoothed->plain : losses;
  const kernels::Smoothing smoothing = smoothed ? smoothed->smoothing : kernels::Smoothing{};
  on_device(x.device(), [&](auto device) {
    kernels::row_statistics(device, x, x.dim(1), targets, Out(rows.maximum), Out(rows.sum_exp),
                            Out(target));
    if (plain.defined()) kernels::row_losses(device, rows.sum_exp, target, Out(plain));
    if (!smoothed) return;
    kernels::row_sums(device, x, x.dim(1), rows.maximum, Out(sums));
    kernels::smoothed_losses(device, rows.sum_exp, target, sums, smoothing, Out(losses));
  });
  return record(losses, {logits}, false, [=](const Tensor& row_weights) {
    logits.add_gradient(made_on_device(logits.value().like(), [&](auto device, Out dlogits) {
      if (smoothing.ids > 0)
        kernels::smoothed_backward(device, rows, row_weights, smoothing, dlogits);
      else
        kernels::cross_entropy_backward(device, rows, row_weights, dlogits);
    }));
  });
}

ValueLosses value_losses(const Var& x, const kernels::ValueTerms& terms, const Tensor& known) {
  const Tensor& said = x.value();
  check_operands("value_losses", {{"x", "M", said}, {"known", "ME", known, DType::f32}});
  check_known("value_losses", known);
  const Tensor losses = sums_of_rows(said), clipped = sums_of_rows(said);
  on_device(said.device(), [&](auto device) {
    kernels::value_losses(device, terms, said, known, Out(losses), Out(clipped));
  });
  const auto step = [x, terms, known](const Tensor& row_weights) {
    x.add_gradient(made_on_device(x.value().like(), [&](auto device, Out dx) {
      kernels::value_losses_backward(device, terms, x.value(), known, row_weights, dx);
    }));
  };
  return {record(losses, {x}, false, step), clipped};
}

Var squared_error(const Var& x, const Tensor& values) {
  const Tensor& given = x.value();
  check_operands("squared_error", {{"x", "MN", given}, {"values", "MN", values, DType::f32}});
  const Tensor losses = made_on_device(sums_of_rows(given), [&](auto device, Out out) {
    kernels::squared_errors(device, given, values, out);
  });
  return record(losses, {x}, false, [x, values](const Tensor& row_weights) {
    x.add_gradient(made_on_device(x.value().like(), [&](auto device, Out dx) {
      kernels::squared_errors_backward(device, x.value(), values, row_weights, dx);
    }));
  });
}

Var end_to_end(const std::vector<Var>& parts) {
  check(!parts.empty(), "end_to_end: there must be 1 part or more");
  for (const Var& part : parts)
    check_operands("end_to_end",
                   {{"the first part", "M", parts.front().value()}, {"a part", "N", part.value()}});
  int64_t size = 0, begin = 0;
  for (const Var& part : parts) size += part.value().size();
  const Tensor out = parts.front().value().like({size});
  for (const Var& part : parts) {
    out.flat(begin, part.value().size()).copy_from(part.value());
    begin += part.value().size();
  }
  return record(out, parts, false, [parts](const Tensor& dy) {
    int64_t first = 0;
    for (const Var& part : parts) {
      const int64_t count = part.value().size();
      if (part.needs_gradient()) part.add_gradient(dy.flat(first, count));
      first += count;
    }
  });
}

}  // namespace skein::ops
