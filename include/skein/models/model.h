// What the parallel machinery knows of a network: pieces that turn a flow into a flow, and an
// objective that turns the last flow into a loss.
#pragma once

#include <vector>

#include "skein/nn/pass.h"
#include "skein/ops/var.h"

namespace skein {

// Which piece of the model a rank builds.
struct ModelPiece {
  int first_block = 0, last_block = 0;  // [first, last)
  bool embeds = true;                   // has the embedding: the first piece
  bool predicts = true;                 // has the head: the last piece
  int chunk = 0;
};

// One piece of a network on this rank: consecutive blocks, with the embedding in the first piece
// and the head in the last.
class Model {
 public:
  virtual ~Model() = default;
  // flow: hidden states [B,T,C] ([B,T/t,C] under sequence parallelism) from the piece before;
  // undefined for the first piece, which reads pass.batch->tokens. Returns hidden states, or, from
  // the last piece, what its objective works on.
  virtual Var forward(const Var& flow, const Pass& pass) const = 0;
  // Shape of the flow that enters or leaves a piece for batches of [batch, length] tokens.
  virtual Shape flow_shape(int64_t batch, int64_t length) const = 0;
};

// A pass that ends in losses.
struct LossPass : Pass {
  // [B*T] on the device: made by whoever runs the pass; undefined: from the batch and loss_scale
  Tensor row_weights = {};
  double loss_scale = 1;    // of the weight in the total loss of every place that is predicted,
  double sample_scale = 1;  // and of every sample, where samples are judged beside them
};

// Losses of a micro-batch, before weighting.
struct Losses {
  Var rows;                     // [N] in the accumulator type: the rows of all terms, end to end
  Tensor row_weights;           // [N] of rows' type: the gradient of rows in the total
  std::vector<Tensor> weights;  // of each term [B,P] f32: 0 where a row does not count
};

// weights [B,P] times scale, as [B*P] in the type of gradients of `like`, where `like` is.
Tensor row_weights_of(const Tensor& weights, double scale, const Tensor& like);

class Objective {
 public:
  virtual ~Objective() = default;
  // output: the last piece's result. Rows of the first term, over places of the batch, weigh
  // pass.loss_scale; those of a second, over its samples, pass.sample_scale.
  virtual Losses losses(const Var& output, const LossPass& pass) const = 0;
  // What the model says instead, for each term, on the host: ids [B,P] i32, or numbers [B,P,n] f32.
  // Collective over pass.tp.
  virtual std::vector<Tensor> answers(const Var& output, const Pass& pass) const = 0;
};

}  // namespace skein
