// A checkpoint's model against what another program computed with the same weights.
#pragma once

#include <string>

#include "skein/checkpoint/checkpoint.h"
#include "skein/models/config.h"

namespace skein::convert {

// Beside the model: `ids` I64 [B,T], if need be `types` I64 [B,T], and `logits` F32 [B,T,V], or
// [B,labels] and [B,T,labels] of classifiers; of an encoder `mask` I64 [B,T], too, where texts end
// in padding: it is 0 there, and logits of padding are not compared. Of a model that maps sources
// to targets, `ids` [B,S] are the source, `mask` I64 [B,S] is 0 on its padding (without it there is
// none), and `decoder_ids` I64 [B,T] is what the decoder is fed.
inline constexpr char kExpectedFile[] = "skein_expected.safetensors";

struct Verification {
  double difference = 0;  // the largest, over the largest of the expected numbers
  double limit = 0;       // 1e-4; 3e-2 where weights are narrower than f32, there or here
  int64_t numbers = 0;

  bool good() const { return difference <= limit; }
};

// Computes the same logits in f32 with the whole model in memory. `narrow`: the other program's
// weights are narrower than f32, and so perhaps what it computed. A usage error when the file does
// not fit the model.
Verification verify_logits(const checkpoint::CheckpointInfo& info, const ModelConfig& model,
                           const std::string& expected, bool narrow);

}  // namespace skein::convert
