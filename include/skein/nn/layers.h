// Linear, norm and feed-forward layers: plain values that hold references into Parameters.
#pragma once

#include <optional>
#include <string>

#include "skein/nn/parameter.h"
#include "skein/nn/pass.h"
#include "skein/ops/math.h"

namespace skein {

struct LinearSpec {
  std::string name;
  int64_t inputs = 0, outputs = 0;
  Split split = Split::none;  // columns: outputs divided; rows: inputs divided
  bool bias = true;
  double deviation = 0.02;
  bool sequence_parallel = false;
  double rate = 1;  // learning rate of the weight, as a multiple of the run's
  RowKind meets = RowKind::tokens;
};

class Linear {
 public:
  Linear(Parameters& parameters, const LinearSpec& spec);
  // x [B,T,K] -> [B,T,N]. Split by columns: x is whole and already entered (copied or gathered) by
  // the caller, the result is this rank's part. Split by rows: x is this rank's part, the result is
  // summed over ranks (and divided over positions under sequence parallelism), with the bias added
  // once after that. f, of the result, is for column splits.
  Var operator()(const Var& x, const Pass& pass, std::optional<ops::Activation> f = {}) const;

 private:
  Split split_;
  Weight weight_, bias_;
};

// Entry of column-split products: x is copied, or gathered over positions.
Var enter_shards(const Var& x, const Pass& pass);
// After the last of these products: the gathered copy of x is gathered again in backward
// (Korthikanti et al., 2022).
void leave_shards(const Var& entered, const Var& x, const Pass& pass);

// x; under sequence parallelism with all its positions, for work that every rank then does alike.
Var all_positions(const Var& x, const Pass& pass);
// x, which is equal on all ranks and used alike by them. Where shards are entered gradients are
// summed over ranks, so in backward the first rank alone passes this one's gradient on.
Var counted_once(const Var& x, const Pass& pass);

struct NormSpec {
  std::string name;
  int64_t width = 0;
  ops::Norm kind = ops::Norm::layer;
  double epsilon = 1e-5;
  bool bias = true;  // of layer norm
  bool sequence_parallel = false;
};

class NormLayer {
 public:
  NormLayer(Parameters& parameters, const NormSpec& spec);
  Var operator()(const Var& x) const;  // [B,T,C] -> [B,T,C]
  // x + branch, and its norm.
  ops::SumAndNorm joined(const Var& x, const Var& branch) const;
  bool learns() const { return gain_.learns(); }

 private:
  ops::Norm kind_;
  double epsilon_;
  Weight gain_, bias_;
};

// down(f(up(x))), or where it is gated down(f(gate(x)) * up(x)).
enum class MlpKind { gelu_tanh, gelu_erf, relu, swiglu, silu, geglu_tanh, geglu_erf, reglu };
bool is_gated(MlpKind kind);
// f
ops::Activation activation_of(MlpKind kind);

struct MlpSpec {
  std::string name;
  int64_t width = 0, hidden = 0;
  MlpKind kind = MlpKind::gelu_tanh;
  bool bias = true;
  double in_deviation = 0.02, out_deviation = 0.02;
  bool sequence_parallel = false;
  double rate = 1;     // learning rate of the weights, as a multiple of the run's
  double dropout = 0;  // of what enters the last product
  int block = 0;
  int dropout_site = 0;  // in the block
};

class Mlp {
 public:
  Mlp(Parameters& parameters, const MlpSpec& spec);
  Var operator()(const Var& x, const Pass& pass) const;  // [B,T,C] -> [B,T,C]

 private:
  Var dropped(const Var& hidden, const Pass& pass) const;

  MlpSpec spec_;
  Linear up_, down_;
  std::vector<Linear> gate_;  // one where the kind is gated
};

}  // namespace skein
