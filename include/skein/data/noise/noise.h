// What is done to text before a model restores it: options. docs/denoising.md has the formulas.
#pragma once

#include <cstdint>
#include <string>

#include "skein/core/options/options.h"
#include "skein/data/samples/masking.h"

namespace skein::data {

// text: the source is noised text, the target the whole of it (BART; Lewis and others, 2020).
// spans: a sentinel stands in the source for each removed span, and the target is the spans, each
// behind its sentinel (T5; Raffel and others, 2020).
enum class NoiseKind { text, spans };
// What a sample is of: the store's tokens in windows of one length, whatever documents they are of,
// or one document, in pieces where it is longer than a sample.
enum class NoiseSamples { windows, documents };

struct NoiseConfig {
  NoiseKind kind = NoiseKind::text;
  NoiseSamples samples = NoiseSamples::windows;
  int64_t length = 0;  // places of the source; 0: as many as the model has

  // text, each in [0, 1]
  double mask = 0;      // part of the tokens that becomes the mask token, or a random one
  double random = 0.1;  // part of these that becomes a random one
  double remove = 0;    // part of the tokens that is deleted
  double infill = 0.3;  // part of the words that is hidden in spans, each of them one mask token
  double permute = 1;   // part of the sentences that change places among themselves
  double rotate = 0;    // part of the documents that begin at a drawn token
  // what is masked and deleted together; token or word
  MaskUnit unit = MaskUnit::token;

  double rate = 0.15;  // spans: part of the tokens that is removed
  double span = 3;     // mean length of spans: words of text, tokens of spans
  // spans: names of the tokens that stand for them, * being 0, 1, ...
  std::string sentinels = "<extra_id_*>";
  // the token that the decoder is fed first; "": the one that ends a sample, or pads with spans
  std::string start{};
  bool fixed = false;  // the same noise in every epoch

  bool operator==(const NoiseConfig&) const = default;
};

// Binds every field under section "noise".
void bind(Options& options, NoiseConfig& config);
// Usage errors for what cannot be.
void check(const NoiseConfig& config);

}  // namespace skein::data
