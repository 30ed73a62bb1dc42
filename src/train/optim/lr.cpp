#include "skein/train/optim/lr.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "skein/core/error.h"
#include "skein/core/log.h"

namespace skein::train {

void bind(Options& options, LrConfig& c) {
  using Decay = LrConfig::Decay;
  using Cooldown = LrConfig::Cooldown;
  options.add("lr.lr", c.lr, "highest learning rate");
  options.add("lr.min_lr", c.min_lr, "learning rate at the end");
  options.add("lr.start_lr", c.start_lr, "learning rate that warm-up begins from");
  options.add("lr.warmup", c.warmup, "length of the linear warm-up", "lr.unit");
  options.add_choice(
      "lr.decay", c.decay,
      {{"auto", Decay::automatic},
       {"constant", Decay::constant},
       {"linear", Decay::linear},
       {"cosine", Decay::cosine},
       {"inverse_sqrt", Decay::inverse_sqrt},
       {"wsd", Decay::wsd},
       {"noam", Decay::noam}},
      "shape after the warm-up; auto: cosine for decoders, linear for encoders and fine-tuning; "
      "noam: the whole curve of the first Transformer, by lr.factor, lr.warmup and model.d_model "
      "alone");
  options.add("lr.factor", c.factor, "noam: multiple of that curve");
  options.add("lr.decay_end", c.decay_end, "where the decay ends; 0: with the run", "lr.unit");
  options.add("lr.cooldown", c.cooldown, "wsd: length of the final fall", "lr.unit");
  options.add_choice("lr.cooldown_shape", c.cooldown_shape,
                     {{"linear", Cooldown::linear},
                      {"cosine", Cooldown::cosine},
                      {"exponential", Cooldown::exponential},
                      {"one_minus_sqrt", Cooldown::one_minus_sqrt}},
                     "wsd: shape of the final fall");
  options.add_choice("lr.unit", c.unit,
                     {{"steps", LrConfig::Unit::steps}, {"tokens", LrConfig::Unit::tokens}},
                     "unit of warmup, decay_end and cooldown");
}

namespace {

bool by_tokens(const LrConfig& c) { return c.unit == LrConfig::Unit::tokens; }

int64_t end_of_decay(const LrConfig& c, const LrPosition& at) {
  if (c.decay_end) return c.decay_end;
  return by_tokens(c) ? at.tokens + (at.total_steps - at.step) * at.tokens_per_step
                      : at.total_steps;
}

double cosine(double y) { return (1 + std::cos(std::numbers::pi * y)) / 2; }

double cooldown_share(LrConfig::Cooldown shape, double z) {
  switch (shape) {
    case LrConfig::Cooldown::linear: return 1 - z;
    case LrConfig::Cooldown::cosine: return cosine(z);
    case LrConfig::Cooldown::exponential: return 2 * std::pow(0.5, z) - 1;
    case LrConfig::Cooldown::one_minus_sqrt: return 1 - std::sqrt(z);
  }
  return 1;
}

}  // namespace

LrConfig resolved(const LrConfig& c, int64_t width) {
  if (c.decay != LrConfig::Decay::noam) {
    require(c.factor == 1, "lr.factor={} is for lr.decay=noam; give that with it, or leave it out",
            c.factor);
    return c;
  }
  require(c.factor > 0, "lr.factor={} must be above 0", c.factor);
  require(c.warmup > 0, "lr.decay=noam needs lr.warmup above 0, not {}", c.warmup);
  require(!by_tokens(c), "lr.decay=noam counts steps; leave lr.unit=tokens out");
  LrConfig made = c;
  made.lr = c.factor / std::sqrt(static_cast<double>(width) * static_cast<double>(c.warmup));
  made.min_lr = made.start_lr = 0;
  made.decay = LrConfig::Decay::inverse_sqrt;
  return made;
}

void check(const LrConfig& c, int64_t total_steps, int64_t tokens_per_step) {
  require(c.lr > 0 && c.min_lr >= 0 && c.start_lr >= 0,
          "lr.lr={} must be above 0, lr.min_lr={} and lr.start_lr={} not below 0", c.lr, c.min_lr,
          c.start_lr);
  require(c.min_lr <= c.lr, "lr.min_lr={} is above lr.lr={}", c.min_lr, c.lr);
  require(c.warmup >= 0 && c.decay_end >= 0 && c.cooldown >= 0,
          "lr.warmup={}, lr.decay_end={} and lr.cooldown={} must not be below 0", c.warmup,
          c.decay_end, c.cooldown);
  const int64_t end = end_of_decay(c, {0, 0, total_steps, tokens_per_step});
  const char* unit = by_tokens(c) ? "tokens" : "steps";
  require(c.decay_end == 0 || c.decay_end > c.warmup,
          "lr.decay_end={} {} must lie after lr.warmup={}", c.decay_end, unit, c.warmup);
  require(c.decay != LrConfig::Decay::wsd || (c.cooldown > 0 && c.cooldown <= end - c.warmup),
          "lr.decay=wsd needs an lr.cooldown above 0 that fits the run: lr.warmup={} and "
          "lr.cooldown={} {} against {} in all",
          c.warmup, c.cooldown, unit, end);
  require(c.decay == LrConfig::Decay::wsd ||
              (c.cooldown == 0 && c.cooldown_shape == LrConfig{}.cooldown_shape),
          "lr.cooldown={} and lr.cooldown_shape are for lr.decay=wsd; give that with them, or "
          "leave them out",
          c.cooldown);
  require(c.warmup > 0 || c.start_lr == 0,
          "lr.start_lr={} is where a warm-up begins, but lr.warmup is 0; give its length, or leave "
          "lr.start_lr out",
          c.start_lr);
  require(c.decay != LrConfig::Decay::inverse_sqrt || c.warmup > 0,
          "lr.decay=inverse_sqrt needs lr.warmup above 0, not {}", c.warmup);
}

double learning_rate(const LrConfig& c, const LrPosition& at) {
  SKEIN_CHECK(c.decay != LrConfig::Decay::noam);
  const double x = by_tokens(c) ? at.tokens + at.tokens_per_step : at.step + 1;
  const double warmup = c.warmup, end = end_of_decay(c, at);
  if (x <= warmup) return c.start_lr + (c.lr - c.start_lr) * x / warmup;
  if (c.decay == LrConfig::Decay::constant) return c.lr;
  if (c.decay == LrConfig::Decay::inverse_sqrt)
    return std::max(c.min_lr, c.lr * std::sqrt(warmup / x));
  if (x > end) return c.min_lr;
  const double y = (x - warmup) / (end - warmup), cooldown = c.cooldown;
  double share = 1;
  if (c.decay == LrConfig::Decay::linear) share = 1 - y;
  if (c.decay == LrConfig::Decay::cosine || c.decay == LrConfig::Decay::automatic)
    share = cosine(y);
  if (c.decay == LrConfig::Decay::wsd && x > end - cooldown)
    share = cooldown_share(c.cooldown_shape, (x - end + cooldown) / cooldown);
  return c.min_lr + share * (c.lr - c.min_lr);
}

void warn_of_no_rate(const LrConfig& c, const LrPosition& first, const char* steps) {
  if (learning_rate(c, first) > 0) return;
  log::warn(
      "nothing will be learnt: the decay ends at lr.min_lr=0 with step {}, the first that learns; "
      "give an lr.warmup of {}, an lr.min_lr above 0, lr.decay=constant, or more {}",
      first.step + 1, by_tokens(c) ? first.tokens + first.tokens_per_step : first.step + 1, steps);
}

}  // namespace skein::train
