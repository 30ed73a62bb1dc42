// An optimizer over the buckets: the whole of them on every rank, or with zero = true only the
// slices a rank owns.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "skein/checkpoint/piece.h"
#include "skein/parallel/buckets.h"
#include "skein/train/optim/optimizer.h"
#include "skein/train/watch/replicas.h"

namespace skein::train {

// Beyond which a step changes nothing.
struct StepLimits {
  double norm = std::numeric_limits<double>::infinity(),
         ridge_loss = std::numeric_limits<double>::infinity();
};

class ShardedOptimizer {
 public:
  // Copies the values, which must have begun. seed: of stochastic rounding.
  ShardedOptimizer(std::unique_ptr<const Optimizer> optimizer, const OptimizerConfig& config,
                   Buckets& buckets, bool zero, uint64_t seed = 0);
  // After Buckets::finish(!zero): multiplies the gradients by gradient_scale, adds 2λθ of a ridge
  // (θ as the optimizer keeps it, in the accumulator type; tied tensors and replicas once), clips
  // by the global norm, updates, and gathers values where they are sharded. Returns the norm before
  // clipping (scaled); a device is waited for that, and for the size of a ridge. Nothing changes
  // when the norm is not finite or beyond a limit; where there is one, a device is waited for
  // earlier.
  double step(double lr, double gradient_scale = 1, const StepLimits& most = {});
  // Whether the latest step changed anything.
  bool applied() const { return applied_; }
  // λ‖θ‖² before the latest step, on every rank; its bits depend on the layout as little as those
  // of the norm.
  double ridge_loss() const { return ridge_loss_; }
  // Of the optimizer's state, the running mean, and masters that are not the values themselves, on
  // this rank.
  int64_t bytes() const;
  int64_t steps() const { return steps_; }

  // Values (f32 whatever the parameters' type), the optimizer's state and the running mean
  // ("ema_param/NAME") as pieces of a checkpoint, of the slices this rank owns. own: each element
  // of the model on exactly one rank, to save; else also what others hold as well, shards' replicas
  // and uses on other stages, to load into.
  std::vector<checkpoint::Piece> pieces(bool own) const;
  // The values among them, of the parameters that are wanted; empty: of all.
  std::vector<checkpoint::Piece> weights(
      bool own, const std::function<bool(const Parameter&)>& wanted = {}) const;
  // The running mean instead of the values, to save: a model of its own.
  std::vector<checkpoint::Piece> mean_pieces() const;
  // What other ranks hold with the same bits: the values that the model reads, and what of the
  // optimizer's is not divided.
  std::vector<Replicated> replicated() const;
  // The running mean begins with the values as they are.
  void begin_mean();
  // Collective. After the pieces, or only the values among them, were loaded: brings the parameters
  // into line.
  void loaded(int64_t steps);

 private:
  struct State {
    Tensor master;  // of the range held here; a view of the values when they are accumulators
                    // already; undefined of aliases
    std::vector<Tensor> kept;  // the optimizer's; none of what is frozen
    Tensor mean = {};          // undefined where there is none
    int64_t begin = 0, size = 0;
    bool learns = false;
  };
  void add_ridge(double gradient_scale);
  void begin(State& state, const Buckets::Bucket& bucket) const;
  // Adds the shards of a bucket to those that move.
  void add_shards(size_t bucket, double lr, std::vector<Shard>& shards) const;
  void follow(const State& state) const;
  // Part of a parameter, with where it begins in the state and in the parameter, and its size.
  struct HeldPart {
    const State& state;
    const Parameter& parameter;
    int64_t at, inside, count;

    // Of one of the state's tensors.
    checkpoint::Piece piece(const std::string& kind, const Tensor& of_state) const;
  };
  void gather_state(size_t bucket) const;
  // Those of the own slices; own = true: that count.
  void each_part(bool own, const std::function<void(const HeldPart&)>& use) const;
  void round(size_t bucket, int64_t step, const Tensor& square_sum) const;

  std::unique_ptr<const Optimizer> optimizer_;
  OptimizerConfig config_;
  Buckets& buckets_;
  bool zero_;
  uint64_t seed_;
  int64_t steps_ = 0;
  double ridge_loss_ = 0;
  bool applied_ = false;
  std::vector<State> states_;  // by bucket
};

}  // namespace skein::train
