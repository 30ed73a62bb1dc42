// The ids of the largest logits, of a vocabulary that may be split over ranks.
#pragma once

#include <vector>

#include "skein/comm/group.h"
#include "skein/ops/loss.h"

namespace skein::ops {

// logits [M,V/t], this rank's columns -> ids [M] i32 on the host, equal logits by the lower id.
// Collective.
Tensor likeliest(const Tensor& logits, const VocabShard& shard, Group& group);

struct LikelyIds {
  Tensor ids;                // [M,K] i32, from likely to unlikely, equal logits by the lower id
  Tensor log_probabilities;  // [M,K] f32
};

struct LikelyArguments {
  int64_t count = 1;  // K
  int64_t ids = 0;    // of the whole model, over all shards
  int64_t below = 0;  // only ids below it are found
  struct Ban {
    int64_t row = 0;
    int32_t id = 0;
  };
  std::vector<Ban> banned = {};  // not found in this row; an id may stand here twice
};

// The likeliest ids of logits [M,V/t] f32, this rank's columns, on the host; where a row has fewer
// than K, -1 and -inf stand instead. The probabilities are those of the model: ids that are not
// found have theirs, too. log p = (logit - maximum) - log(sum of exp(logit - maximum)) in f64,
// rounded to f32, and the sum is one of whole numbers (kernels/likeliest.h): equal logits give
// equal bits at any number of ranks, rows and threads. Logits of banned ids become -inf.
// Collective. Error(failure) where a logit is NaN, or the largest of a row is not finite.
LikelyIds likeliest_ids(const Tensor& logits, const VocabShard& shard,
                        const LikelyArguments& arguments, Group& group);

}  // namespace skein::ops
