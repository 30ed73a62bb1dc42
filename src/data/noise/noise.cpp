#include "skein/data/noise/noise.h"

#include <algorithm>
#include <utility>

#include "skein/core/error.h"

namespace skein::data {
namespace {

// Beyond it T5's noise leaves too little text to stand between its spans.
constexpr double kHighestRate = 0.9;
// A Poisson law of a larger mean is drawn by other means than here.
constexpr double kLongestMean = 100;

void bind_text(Options& options, NoiseConfig& c) {
  options.add("noise.mask", c.mask, "text: part of the tokens that becomes the mask token");
  options.add("noise.random", c.random, "text: part of these that becomes any other token instead");
  options.add("noise.delete", c.remove, "text: part of the tokens that is left out");
  options.add("noise.infill", c.infill,
              "text: part of the words that is hidden in spans, one mask token a span");
  options.add("noise.permute", c.permute,
              "text: part of the sentences that change places among themselves");
  options.add("noise.rotate", c.rotate, "text: part of the documents that begin at a drawn token");
  options.add_choice("noise.unit", c.unit, {{"token", MaskUnit::token}, {"word", MaskUnit::word}},
                     "text: what is masked and left out together: tokens alone or whole words");
}

void bind_spans(Options& options, NoiseConfig& c) {
  options.add("noise.rate", c.rate, "spans: part of the tokens that is removed");
  options.add("noise.span", c.span, "mean length of spans: words of text, tokens of spans");
  options.add("noise.sentinels", c.sentinels,
              "spans: names of the tokens that stand for them, * being 0, 1, ...");
}

void check_part(const char* name, double value) {
  require(value >= 0 && value <= 1, "{} is {}; it is a part, from 0 to 1", name, value);
}

void check_text(const NoiseConfig& c) {
  for (const auto& [name, value] : {std::pair{"noise.mask", c.mask},
                                    {"noise.random", c.random},
                                    {"noise.delete", c.remove},
                                    {"noise.infill", c.infill},
                                    {"noise.permute", c.permute},
                                    {"noise.rotate", c.rotate}})
    check_part(name, value);
  require(
      c.mask + c.remove + c.infill <= 1 + 1e-9,
      "noise.mask={}, noise.delete={} and noise.infill={} are {:.4g} together; they take tokens "
      "of one text and cannot be more than 1",
      c.mask, c.remove, c.infill, c.mask + c.remove + c.infill);
  require(std::max({c.mask, c.remove, c.infill, c.permute, c.rotate}) > 0,
          "noise.mask, noise.delete, noise.infill, noise.permute and noise.rotate are all 0: the "
          "model would only copy; give one of them, such as noise.infill=0.3");
}

void check_spans(const NoiseConfig& c) {
  require(c.rate > 0 && c.rate <= kHighestRate, "noise.rate is {}; it must be in (0, {}]", c.rate,
          kHighestRate);
  const auto stars = std::ranges::count(c.sentinels, '*');
  require(stars == 1,
          "noise.sentinels is \"{}\", with {} times *; it is one name in which * stands for the "
          "number, such as <extra_id_*>",
          c.sentinels, stars);
}

}  // namespace

void bind(Options& options, NoiseConfig& c) {
  options.add_choice("noise.kind", c.kind, {{"text", NoiseKind::text}, {"spans", NoiseKind::spans}},
                     "text: noised text, and all of it to restore (BART); spans: text without "
                     "spans, and these to restore (T5)");
  options.add_choice(
      "noise.samples", c.samples,
      {{"windows", NoiseSamples::windows}, {"documents", NoiseSamples::documents}},
      "windows: a store's tokens, whatever documents they are of; documents: one each, or a piece");
  options.add("noise.length", c.length, "of the source; 0: as long as the model allows", "tokens");
  bind_text(options, c);
  bind_spans(options, c);
  options.add("noise.start", c.start,
              "token that the decoder is fed first; empty: the one that ends a sample, with spans "
              "the one that pads");
  options.add("noise.static", c.fixed, "the same noise in every epoch");
}

void check(const NoiseConfig& c) {
  require(c.length >= 0, "noise.length is {}; it is a number of tokens, or 0", c.length);
  require(c.span >= 1 && c.span <= kLongestMean, "noise.span is {}; it must be from 1 to {}",
          c.span, kLongestMean);
  if (c.kind == NoiseKind::text)
    check_text(c);
  else
    check_spans(c);
}

}  // namespace skein::data
