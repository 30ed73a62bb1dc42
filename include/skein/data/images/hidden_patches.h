// Patches that are hidden from a model, for it to say them (He and others, "Masked autoencoders are
// scalable vision learners", 2022).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/data/images/picture_form.h"
#include "skein/data/samples/batch.h"
#include "skein/data/samples/draws.h"

namespace skein::data {

// Numbers of a picture's patches, ascending.
struct PatchChoice {
  std::vector<int32_t> seen, hidden;
};

// Hides the `hidden` patches whose numbers are the largest; of equal ones the later first.
PatchChoice hide_largest(std::span<const double> numbers, int64_t hidden);
// The same with a uniform number for each of the form's patches.
PatchChoice hide_patches(const PictureForm& form, Draws draws);

// What a patch is said in: each number less the mean of all, over the root of their variance (over
// their number less 1) plus 1e-6.
struct PatchUnits {
  double mean = 0, deviation = 1;
};
PatchUnits units_of(std::span<const float> patch);

// What a model says of a patch lies row, column, channel, as published models have it: number `i`
// of that is this one of the patch's own, which lie channel, row, column.
inline int64_t said_number(const PictureForm& form, int64_t i) {
  return i % form.channels * (form.patch_height * form.patch_width) + i / form.channels;
}

// A batch of so many pictures of which a model sees form.seen() patches each and says the others:
// positions [B,T] and features [B,seen,K] of the patches that are seen, a class token ahead of
// them; targets [B,hidden], the positions of the others among all tokens of the picture; values
// [B,hidden,K], what is to be said of them, and weights of 1. Nobody has filled in the numbers yet.
Batch hiding_batch(int64_t count, const PictureForm& form);
// Fills a row of it from the numbers [patches,K] of all patches.
void fill_hiding(const Batch& batch, int64_t row, std::span<const float> numbers,
                 const PatchChoice& choice, const PictureForm& form);

}  // namespace skein::data
