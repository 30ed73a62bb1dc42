// What the parallel machinery knows of a network: pieces that turn a flow into a flow, and an
// objective that turns the last flow into a loss.
#pragma once

#include <memory>
#include <vector>

#include "skein/models/flow.h"
#include "skein/models/heads.h"
#include "skein/nn/pass.h"

namespace skein {

// Which piece of the model a rank builds.
struct ModelPiece {
  int first_block = 0, last_block = 0;  // [first, last)
  bool embeds = true;                   // has the embedding: the first piece
  bool predicts = true;                 // has the head: the last piece
  int chunk = 0;
};

class Objective;

// One piece of a network on this rank: consecutive blocks, with the embedding in the first piece
// and the head in the last.
class Model {
 public:
  virtual ~Model() = default;
  // flow: what the piece before has made; empty for the first piece, which reads pass.batch.
  // Returns what the next piece reads, or, from the last piece, the one tensor its objective works
  // on.
  virtual Flow forward(const Flow& flow, const Pass& pass) const = 0;
  // Of each tensor that enters this piece; never asked of the first piece.
  virtual std::vector<FlowPart> flow_parts(const Pass& pass) const = 0;

  // Of the last piece: what it can do, null for what it cannot, and what it learns where no task
  // says otherwise.
  virtual const Predictor* predictor() const { return nullptr; }
  virtual const Scorer* scorer() const { return nullptr; }
  virtual const ValueHead* value_head() const { return nullptr; }
  virtual std::unique_ptr<Objective> objective() const = 0;
};

// A pass that ends in losses.
struct LossPass : Pass {
  // [B*T] on the device, where whoever runs the pass has made them; undefined: the objective makes
  // them of the batch's weights and loss_scale
  Tensor row_weights = {};
  double loss_scale = 1;    // factor of the weight that a place has in the total loss
  double sample_scale = 1;  // the same of a sample, where samples are judged too
};

// Losses of a micro-batch, before weighting.
struct Losses {
  Var rows;                     // [N] in the accumulator type: the rows of all terms, end to end
  Tensor row_weights;           // [N] of rows' type: the derivative of the total by each row
  std::vector<Tensor> weights;  // of each term [B,P] f32: 0 where a row does not count
};

// Returns weights [B,P] times scale as [B*P], in the type that gradients of `like` have, on its
// device.
Tensor row_weights_of(const Tensor& weights, double scale, const Tensor& like);

class Objective {
 public:
  virtual ~Objective() = default;
  // output: the last piece's result. The rows of a term over places are weighed by pass.loss_scale,
  // those of a term over samples by pass.sample_scale.
  virtual Losses losses(const Var& output, const LossPass& pass) const = 0;
  // What the model answers, for each term, on the host: ids [B,P] i32, or numbers [B,P,n] f32.
  // Collective over pass.tp.
  virtual std::vector<Tensor> answers(const Var& output, const Pass& pass) const = 0;
};

}  // namespace skein
