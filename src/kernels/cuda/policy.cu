#include "skein/kernels/policy.h"

#include "../policy_formulas.h"
#include "common.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 128;

// PolicyOuts as memory; null: not wanted.
template <class A>
struct OutPointers {
  A *loss, *approx_kl, *clipped, *ratio, *ratio_off, *bonus, *slopes;
};

template <class A>
__global__ void policy_rows(int64_t count, PolicyTerms terms, const A* losses, const A* scales,
                            const float* known, const A* entropies, OutPointers<A> to) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float* of_token = known + i * known::columns;
  const double logp = -static_cast<float>(losses[i]);
  const bool counts = scales[i] != 0;
  const TokenLoss token = counts ? token_loss(terms, logp, of_token) : TokenLoss{};
  to.loss[i] = static_cast<A>(token.loss);
  to.approx_kl[i] = static_cast<A>(token.approx_kl);
  to.clipped[i] = static_cast<A>(token.clipped);
  to.ratio[i] = static_cast<A>(token.ratio);
  to.ratio_off[i] = static_cast<A>(token.ratio_off);
  if (to.slopes) to.slopes[i] = static_cast<A>(-token.slope * terms.scale);
  if (!to.bonus) return;
  const double pay = counts ? -terms.entropy * of_token[known::factor] : 0;
  to.bonus[i] = static_cast<A>(static_cast<double>(entropies[i]) * pay);
}

template <class T>
__global__ void value_rows(int64_t count, ValueTerms terms, const T* x, const float* known,
                           Accumulator<T>* losses, Accumulator<T>* clipped) {
  using A = Accumulator<T>;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const ValueLoss made = value_loss(terms, load(x + i), known + i * known::columns);
  losses[i] = static_cast<A>(made.loss);
  clipped[i] = static_cast<A>(made.clipped);
}

template <class T>
__global__ void value_slopes(int64_t count, ValueTerms terms, const T* x, const float* known,
                             const Accumulator<T>* scales, T* dx) {
  using A = Accumulator<T>;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const ValueLoss made = value_loss(terms, load(x + i), known + i * known::columns);
  store(dx + i, static_cast<A>(made.slope * static_cast<double>(scales[i])));
}

dim3 blocks_of(int64_t rows) { return grid_of(pieces_of(rows, kThreads)); }

}  // namespace

void policy_losses(Cuda on, const PolicyTerms& terms, const Tensor& losses, const Tensor& row_scale,
                   const Tensor& known, const Tensor& entropies, const PolicyOuts& outs) {
  visit_float(losses.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const OutPointers<A> to{outs.loss->data<A>(),          outs.approx_kl->data<A>(),
                            outs.clipped->data<A>(),       outs.ratio->data<A>(),
                            outs.ratio_off->data<A>(),     outs.bonus->data_or_null<A>(),
                            outs.slopes->data_or_null<A>()};
    launch("policy_losses", on, policy_rows<A>, blocks_of(losses.size()), kThreads, 0,
           losses.size(), terms, losses.data<A>(), row_scale.data<A>(), known.data<float>(),
           entropies.data_or_null<A>(), to);
  });
}

void value_losses(Cuda on, const ValueTerms& terms, const Tensor& x, const Tensor& known,
                  Out losses, Out clipped) {
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    launch("value_losses", on, value_rows<T>, blocks_of(x.size()), kThreads, 0, x.size(), terms,
           x.data<T>(), known.data<float>(), losses->data<A>(), clipped->data<A>());
  });
}

void value_losses_backward(Cuda on, const ValueTerms& terms, const Tensor& x, const Tensor& known,
                           const Tensor& row_scale, Out dx) {
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    launch("value_losses_backward", on, value_slopes<T>, blocks_of(x.size()), kThreads, 0, x.size(),
           terms, x.data<T>(), known.data<float>(), row_scale.data<Accumulator<T>>(),
           dx->data<T>());
  });
}

}  // namespace skein::kernels
