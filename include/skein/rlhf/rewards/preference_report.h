// How well the scores of a reward model fit what people preferred. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "skein/core/values.h"
#include "skein/data/samples/preference_samples.h"

namespace skein::rlhf::rewards {

// Some of the pairs. p = σ(gap of the raw scores) is what the model says of each; its confidence is
// max(p, 1 - p).
struct PairBin {
  double low = 0, high = 0;  // of what the pairs are divided by; high belongs to the last bin only
  int64_t pairs = 0;
  double accuracy = 0;  // share whose better answer scores higher; a tie is wrong
  double said = 0;      // mean confidence
};

struct PreferenceReport {
  int64_t prompts = 0;
  double loss = 0;  // mean over prompts, as trained
  // Of all pairs in which one answer is better, those of choices of the best included:
  int64_t pairs = 0;
  double pair_loss = 0;  // mean of -log p of the better one; ln 2 says nothing
  // Mean entropy of the labels, where the same pair of answers is judged more than once: no model
  // has a lower pair_loss. 0 where nobody contradicts anybody.
  double label_entropy = 0;
  int64_t repeated = 0;  // pairs that are judged more than once
  double accuracy = 0;
  double margin = 0;  // mean gap of the raw scores
  // ECE: mean over pairs of |accuracy - said| of their bin by confidence
  double calibration_error = 0;
  // b of the most likely σ(b · gap): 1 is calibrated, less is too sure of itself; NaN where the
  // gaps never err or say nothing.
  double slope = 0;
  double longer = 0;  // accuracy of "the longer one is better", in tokens, a tie counting half
  std::vector<PairBin> by_confidence;  // ten bins of [0.5, 1]
  // up to five bins, alike in size, by tokens of the better answer less those of the worse
  std::vector<PairBin> by_length;
  int64_t choices = 0;  // prompts with a best answer
  double choice_accuracy = 0;
  int64_t scored = 0;  // answers with a score
  double squared_error = 0, pearson = 0, spearman = 0;

  // A guess by length alone, in the better direction, is right as often.
  bool length_explains() const {
    return pairs > 0 && (longer >= accuracy || 1 - longer >= accuracy);
  }
  // A sentence that warns of that; "" where it is not so.
  std::string length_warning() const;
  std::string text() const;
  NamedValues values() const;
  std::string to_json() const;
};

// scores [samples,K] f32, raw; loss: mean over the samples.
PreferenceReport report_of(const std::vector<data::PreferenceSample>& samples, const Tensor& scores,
                           double loss);

}  // namespace skein::rlhf::rewards
