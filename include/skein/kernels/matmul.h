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

struct MatmulArguments {
  bool transpose_a = false, transpose_b = false;  // how the operands are read
  bool accumulate = false;                        // add to c, which is of the accumulator type
  Tensor bias = {};  // [N], of a's dtype: added to the sums of each row before they are rounded;
                     // undefined: nothing
  Activation activation = Activation::gelu_tanh;  // of what `activated` receives
  PackedCopies* copies_of_b = nullptr;            // may be null; the bits are the same
  // GPUs: the bits of a row of c do not depend on how many rows there are or, where a is read
  // transposed, on where its rows begin. Few rows then take longer.
  bool any_rows = false;
};

// c [M,N] = op(a) [M,K] · op(b) [K,N] + bias, or c += that; activated [M,N] = activation(c), where
// it is defined. a and b have one dtype; c has it too, or their accumulator type (f32 for bf16). A
// bias or an activation needs c in the dtype of a, and activated has it.
void matmul(Cpu, const Tensor& a, const Tensor& b, const MatmulArguments& arguments, Out c,
            Out activated = {});
void matmul(Cuda, const Tensor& a, const Tensor& b, const MatmulArguments& arguments, Out c,
            Out activated = {});

}  // namespace skein::kernels
