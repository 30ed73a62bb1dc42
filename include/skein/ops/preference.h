// Losses of the scores that a prompt's answers have, by what is known of the answers.
//
//   ranked  the mean of -log σ(r⁺ - r⁻ - m) over all pairs in which one answer is better, with
//           m = margin · (grade⁺ - grade⁻). Bradley and Terry, 1952; lists in one sample: Ouyang
//           and others, "Training language models to follow instructions with human feedback",
//           2022; margins: Touvron and others, "Llama 2", 2023.
//   best    -log softmax(r) of the best answer. Ziegler and others, "Fine-tuning language models
//           from human preferences", 2019.
//   scored  the mean of (r - score)².
//
// ranked and best add centring · the mean of (r⁺ + r⁻)² over the pairs; of best these are the best
// answer with each other one. Eisenstein and others, "Helping or herding?", 2023.
// All in f64, finite for scores of any size.
#pragma once

#include <span>
#include <vector>

#include "skein/data/samples/preference_samples.h"
#include "skein/ops/var.h"

namespace skein::ops {

struct PreferenceLossConfig {
  double margin = 0;    // 0: grades play no part
  double centring = 0;  // 0.01 in the paper
};

struct PreferenceLoss {
  double loss = 0;
  std::vector<double> slopes;  // d loss / d score
};

// Of one sample: scores [K], known [K, kKnownColumns]. Answers of kind none have slope 0. A sample
// with nothing to tell apart has loss 0.
PreferenceLoss preference_loss(std::span<const double> scores, std::span<const float> known,
                               const PreferenceLossConfig& config);

// scores [B*K], known [B,K,kKnownColumns] f32 on the host -> the loss of each sample [B] in the
// accumulator type.
Var preference_losses(const Var& scores, const Tensor& known, const PreferenceLossConfig& config);

}  // namespace skein::ops
