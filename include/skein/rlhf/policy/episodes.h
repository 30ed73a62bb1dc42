// Answers that a policy has sampled, with all that is known of them, and as batches to learn from.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/data/samples/source.h"
#include "skein/parallel/layout.h"
#include "skein/rlhf/policy/advantage.h"
#include "skein/rlhf/policy/losses.h"
#include "skein/rlhf/rewards/rewards.h"

namespace skein::rlhf::policy {

class Prompts {
 public:
  virtual ~Prompts() = default;
  // The index-th prompt of a run, a pure function of the index.
  virtual rewards::Prompt at(int64_t index) const = 0;
};

struct Episode {
  int64_t number = 0;  // of the run
  rewards::Prompt prompt;
  std::vector<int32_t> tokens;  // of the answer, with its end token where it has ended
  Trajectory path;
  double entropy = 0;  // mean of its tokens' distributions
};

// Rows are prompt and answer, places the answer's tokens: weights 1 where they count, known as in
// kernels/policy.h. How long both are is never read off the tokens, so what rows are filled up with
// may be any id, the end token too.
class EpisodeSamples : public data::RowSource {
 public:
  // episodes outlive it and may learn more until batch() is asked. length and places of a row: at
  // least those of the longest.
  EpisodeSamples(const std::vector<Episode>& episodes, int64_t length, int64_t places);

  // Sample i is episode order[i]; at first that is episode i.
  void set_order(std::vector<int64_t> order) { order_ = std::move(order); }
  // How the tokens of minibatches of so many samples are weighed.
  void set_aggregation(Aggregation aggregation, int64_t minibatch, int64_t constant);

  int64_t samples_per_epoch() const override { return std::ssize(order_); }
  int64_t places() const { return places_; }

 private:
  data::Batch empty_batch(int64_t count) const override;
  void fill(const data::Batch& batch, int64_t row, int64_t sample) const override;
  double factor(int64_t sample) const;
  const Episode& episode(int64_t sample) const { return episodes_[order_[sample]]; }

  const std::vector<Episode>& episodes_;
  int64_t length_, places_;
  std::vector<int64_t> order_;
  Aggregation aggregation_ = Aggregation::token_mean;
  int64_t minibatch_ = 1, constant_ = 1;
};

// Tokens of the longest row that is fed to the model, at a multiple of `multiple` where `context`
// allows it; and of the longest answer.
int64_t longest_row(const std::vector<Episode>& episodes, int64_t context, int64_t multiple);
int64_t longest_answer(const std::vector<Episode>& episodes);

}  // namespace skein::rlhf::policy
