// Matrix products. Every element of the result is one chain of fused multiply-adds over the inner
// dimension in rising order (bf16: of products of depth_granule neighbours at a time, as the CPU's
// unit adds them), started from zero or from the element it is added to. The bits of a row
// therefore do not depend on how many rows the call has, on tiles or on threads, and adding two
// halves of the inner dimension in two calls gives the bits of one call, where they are cut at a
// multiple of depth_granule.
#pragma once

#include "skein/kernels/elementwise.h"

namespace skein::kernels {

// Steps of the inner dimension that this machine's units take at once for dtype: a chain cut at a
// multiple of it goes on with the same bits in another call. 1 for f32 and f64.
int64_t depth_granule(Cpu, DType dtype);
int64_t depth_granule(Cuda, DType dtype);

enum class Transpose { no, yes };
enum class Write { overwrite, accumulate };

// What happens to the elements of a product on their way to memory.
struct Ending {
  Tensor bias = {};  // [N], of a's dtype: added to the sums of each row before they are rounded;
                     // undefined: nothing
  Tensor activated = {};  // [M,N], of c's dtype: receives activation(c); undefined: nothing
  Activation activation = Activation::gelu_tanh;
};

// Copies of a right operand in the order in which this machine's tiles read it. Products of few
// rows, whose time packing would take, make them when they first want them and use them until
// `forget`: whoever changes the operand calls it.
class PackedCopies {
 public:
  struct Copy {
    Tensor units;  // bytes
    const void* of = nullptr;
    int unit = 0;  // which unit's order
    bool fresh = false;
  };

  void forget() { plain.fresh = transposed.fresh = false; }
  int64_t bytes() const { return plain.units.bytes() + transposed.units.bytes(); }

  Copy plain, transposed;  // by how the product takes the operand
};

// c [M,N] = op(a) [M,K] · op(b) [K,N], or c += with Write::accumulate. a and b have one dtype; c
// has it too, or their accumulator type (f32 for bf16). Accumulating needs the accumulator type. An
// ending needs c in the dtype of a. copies_of_b may be null; the bits are the same.
void matmul(Cpu, const Tensor& a, Transpose transpose_a, const Tensor& b, Transpose transpose_b,
            const Tensor& c, Write write = Write::overwrite, const Ending& ending = {},
            PackedCopies* copies_of_b = nullptr);
void matmul(Cuda, const Tensor& a, Transpose transpose_a, const Tensor& b, Transpose transpose_b,
            const Tensor& c, Write write = Write::overwrite, const Ending& ending = {},
            PackedCopies* copies_of_b = nullptr);

}  // namespace skein::kernels
