#include "rotary_options.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"

namespace skein {
namespace {

double usual_amplitude(const ModelConfig& c) {
  const double grown = std::log(std::max(1.0, c.rope_factor));
  if (c.rope_scaling == RopeScaling::yarn) return 0.1 * grown + 1;
  return std::sqrt(1 + grown / std::log(static_cast<double>(c.rope_context)));
}

bool has_amplitude(const ModelConfig& c) {
  return c.rope_scaling == RopeScaling::yarn || c.rope_scaling == RopeScaling::longrope;
}

}  // namespace

kernels::RotaryWaves rotary_waves(const ModelConfig& c, SightKind kind) {
  if (c.rope_window_theta > 0 && kind == SightKind::window)
    return {.theta = c.rope_window_theta, .width = c.rope_width};
  kernels::RotaryWaves made{c.rope_theta,         c.rope_scaling,        c.rope_factor,
                            c.rope_low_frequency, c.rope_high_frequency, c.rope_context};
  if (has_amplitude(c))
    made.amplitude = c.rope_amplitude > 0 ? c.rope_amplitude : usual_amplitude(c);
  made.width = c.rope_width;
  made.factors = c.rope_factors;
  return made;
}

void bind_rotary(Options& options, ModelConfig& c) {
  options.add("model.rope_theta", c.rope_theta, "base of the rotary wavelengths");
  options.add_choice("model.rope_scaling", c.rope_scaling,
                     {{"none", RopeScaling::none},
                      {"linear", RopeScaling::linear},
                      {"llama3", RopeScaling::llama3},
                      {"yarn", RopeScaling::yarn},
                      {"longrope", RopeScaling::longrope}},
                     "how rotary frequencies are stretched for longer contexts");
  options.add("model.rope_factor", c.rope_factor, "what stretched frequencies are divided by");
  options.add("model.rope_low_frequency", c.rope_low_frequency,
              "llama3, yarn: waves longer than model.rope_context over this are stretched");
  options.add("model.rope_high_frequency", c.rope_high_frequency,
              "llama3, yarn: waves shorter than model.rope_context over this are kept; models "
              "stretched by yarn mostly have 32");
  options.add("model.rope_context", c.rope_context,
              "llama3, yarn, longrope: context before stretching", "tokens");
  options.add("model.rope_amplitude", c.rope_amplitude,
              "yarn, longrope: what turned queries and keys are multiplied by; 0: 0.1 "
              "ln(model.rope_factor) + 1, or sqrt(1 + ln(model.rope_factor) / "
              "ln(model.rope_context))");
  options.add("model.rope_factors", c.rope_factors,
              "longrope: by what each rotary frequency is divided, in texts of up to "
              "model.rope_context tokens");
  options.add("model.rope_window_theta", c.rope_window_theta,
              "base of the rotary wavelengths in blocks of attention.kind=window, which are not "
              "stretched; 0: as in the others");
  options.add("model.rope_width", c.rope_width,
              "numbers of each head that rotary positions turn, the first ones; 0: all");
}

namespace {

void check_yarn(const ModelConfig& c) {
  require(c.rope_amplitude >= 0 && std::isfinite(c.rope_amplitude) &&
              (has_amplitude(c) || c.rope_amplitude == 0),
          "model.rope_amplitude={} must be 0 or above, and is for model.rope_scaling=yarn and "
          "longrope; leave it out",
          c.rope_amplitude);
  require(c.rope_scaling != RopeScaling::yarn || c.rope_theta > 1,
          "model.rope_theta={} must be above 1 with model.rope_scaling=yarn", c.rope_theta);
}

void check_longrope(const ModelConfig& c) {
  if (c.rope_scaling != RopeScaling::longrope) {
    require(c.rope_factors.empty(),
            "model.rope_factors has {} numbers, which are for model.rope_scaling=longrope; leave "
            "them out",
            c.rope_factors.size());
    return;
  }
  const int64_t pairs = (c.rope_width ? c.rope_width : c.head_width()) / 2;
  require(std::ssize(c.rope_factors) == pairs,
          "model.rope_factors has {} numbers; model.rope_scaling=longrope needs {}, one for each "
          "pair of numbers of a head that turns",
          c.rope_factors.size(), pairs);
  for (const double factor : c.rope_factors)
    require(factor > 0 && std::isfinite(factor), "model.rope_factors has {}; all must be above 0",
            factor);
  require(c.rope_context > 1 && c.context <= c.rope_context,
          "model.context={} must be at most model.rope_context={} with "
          "model.rope_scaling=longrope, whose longer texts have other factors; leave texts at that "
          "length",
          c.context, c.rope_context);
}

void check_window_theta(const ModelConfig& c) {
  require(c.rope_window_theta == 0 ||
              (c.rope_window_theta > 0 && std::isfinite(c.rope_window_theta) &&
               c.positions == Positions::rotary && c.attention.has(SightKind::window)),
          "model.rope_window_theta={} must be 0 or above, and is for model.positions=rotary and "
          "blocks of attention.kind=window; leave it out",
          c.rope_window_theta);
}

}  // namespace

void check_rotary(const ModelConfig& c) {
  check_yarn(c);
  check_window_theta(c);
  if (c.positions != Positions::rotary) {
    require(c.rope_scaling == RopeScaling::none && c.rope_width == 0,
            "model.rope_scaling and model.rope_width={} are of rotary positions; give "
            "model.positions=rotary with them",
            c.rope_width);
    return check_longrope(c);
  }
  require(c.head_width() % 2 == 0,
          "rotary positions need an even head width, not {}; change model.d_model, model.n_heads "
          "or model.d_head",
          c.head_width());
  require(c.rope_theta > 0, "model.rope_theta is {}; it must be above 0", c.rope_theta);
  require(c.rope_factor > 0, "model.rope_factor is {}; it must be above 0", c.rope_factor);
  require(c.rope_width % 2 == 0 && c.rope_width >= 0 && c.rope_width <= c.head_width(),
          "model.rope_width={} must be an even number, at most the head width {} (model.d_head)",
          c.rope_width, c.head_width());
  check_longrope(c);
  if (c.rope_scaling != RopeScaling::llama3 && c.rope_scaling != RopeScaling::yarn) return;
  require(c.rope_low_frequency > 0 && c.rope_high_frequency > c.rope_low_frequency,
          "model.rope_low_frequency={} must be above 0 and below model.rope_high_frequency={}",
          c.rope_low_frequency, c.rope_high_frequency);
}

}  // namespace skein
