#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

#include "families.h"

namespace skein::convert {
namespace {

// What the authors of yarn take, and transformers where nothing or 0 is said.
constexpr double kFast = 32, kSlow = 1;

constexpr char kSharePlain[] = "partial_rotary_factor",
               kOriginal[] = "original_max_position_embeddings";

// Newer releases of transformers prefer the number outside.
void read_rope_context(const ForeignConfig& config, const ForeignConfig& rope,
                       const RotaryKeys& names, ModelConfig& c) {
  const bool known = config.has(kOriginal) || names.usual_original > 0;
  const int64_t outside =
      config.integer(kOriginal, names.usual_original > 0 ? names.usual_original : c.context);
  c.rope_context = rope.integer(kOriginal, outside);
  require(!known || outside == c.rope_context,
          "{}: \"{}\" is {}, but {} beside it; take out the wrong one", rope.origin(), kOriginal,
          c.rope_context, outside);
}

bool read_amplitude(const ForeignConfig& rope, ModelConfig& c) {
  if (!rope.has("attention_factor")) return false;
  c.rope_amplitude = rope.real("attention_factor");
  if (!(c.rope_amplitude > 0) || !std::isfinite(c.rope_amplitude))
    rope.refuse("attention_factor", "and must make a factor above 0");
  return true;
}

double or_else(double value, double otherwise) { return value == 0 ? otherwise : value; }

void read_yarn(const ForeignConfig& rope, ModelConfig& c) {
  rope.must_be("truncate", true, "and the ends of what yarn blends are whole numbers here");
  c.rope_high_frequency = or_else(rope.real("beta_fast", kFast), kFast);
  c.rope_low_frequency = or_else(rope.real("beta_slow", kSlow), kSlow);
  const double above = rope.real("mscale", 0), below = rope.real("mscale_all_dim", 0),
               grown = 0.1 * std::log(std::max(1.0, c.rope_factor));
  if (read_amplitude(rope, c) || above == 0 || below == 0) return;
  c.rope_amplitude = (above * grown + 1) / (below * grown + 1);
  if (!(c.rope_amplitude > 0) || !std::isfinite(c.rope_amplitude))
    rope.refuse("mscale", "and must make a factor above 0");
}

// Longer texts than the context before stretching have other factors, and nothing here changes by
// the length of a text.
void read_longrope(const ForeignConfig& config, const ForeignConfig& rope, const RotaryKeys& names,
                   ModelConfig& c) {
  read_rope_context(config, rope, names, c);
  if (c.rope_context < 2) rope.refuse(kOriginal, "and must be above 1");
  c.rope_factors = rope.reals("short_factor");
  rope.reals("long_factor");  // must be there
  c.rope_factor = rope.real("factor", static_cast<double>(c.context) / c.rope_context);
  read_amplitude(rope, c);
  c.context = std::min(c.context, c.rope_context);
}

void read_scaling(const ForeignConfig& config, const ForeignConfig& rope, const RotaryKeys& names,
                  const std::string& type, ModelConfig& c) {
  if (type == "dynamic") {
    rope.real("factor");  // must be there; of texts beyond the context
    return;
  }
  c.rope_scaling = type == "linear"   ? RopeScaling::linear
                   : type == "llama3" ? RopeScaling::llama3
                   : type == "yarn"   ? RopeScaling::yarn
                                      : RopeScaling::longrope;
  if (type == "longrope") return read_longrope(config, rope, names, c);
  c.rope_factor = rope.real("factor");
  if (type == "linear") return;
  read_rope_context(config, rope, names, c);
  if (type == "yarn") return read_yarn(rope, c);
  c.rope_low_frequency = rope.real("low_freq_factor");
  c.rope_high_frequency = rope.real("high_freq_factor");
}

// Under `key`, how much of each head turns, where a family knows such a share.
void read_share(const ForeignConfig& config, const std::string& key, double otherwise,
                bool of_family, ModelConfig& c) {
  const double share = config.real(key, otherwise);
  if (share == 1) {
    c.rope_width = 0;
    return;
  }
  if (!of_family) config.refuse(key, "and positions of this family turn whole heads");
  check_sizes(c, config.origin());  // before it is divided by them
  const double turned = static_cast<double>(c.head_width()) * share;
  if (!(turned >= 2 && turned <= static_cast<double>(c.head_width())))
    config.refuse(
        key, fmt::format("which turns no pair of a head of {}, or more than it", c.head_width()));
  c.rope_width = static_cast<int64_t>(turned);
  if (c.rope_width % 2 != 0)
    config.refuse(key,
                  fmt::format("which turns {} numbers of a head of {}; they turn in pairs here",
                              c.rope_width, c.head_width()));
}

// One of rope_parameters and rope_scaling, the newer and the older name of the same.
void read_rotary(const ForeignConfig& config, const std::string& key, const RotaryKeys& names,
                 ModelConfig& c) {
  const bool shared = names.has_share();
  c.rope_theta = config.real(names.theta, 10000);
  const bool has = config.has(key), inside = has && config.object(key).has(kSharePlain);
  if (!shared || !inside) read_share(config, names.share, names.usual_share, shared, c);
  if (!has) return;
  const ForeignConfig rope = config.object(key);
  for (const auto& [name, value] : config.at(key).items())
    if (value.is_object()) config.refuse(key, "and all layers have the same positions here");
  if (inside) read_share(rope, kSharePlain, 1, shared, c);
  read_stretching(config, rope, names, c);
}

void read_both(const ForeignConfig& config, const RotaryKeys& names, ModelConfig& c) {
  ModelConfig older = c;
  const bool both = config.has("rope_parameters") && config.has("rope_scaling") &&
                    !config.at("rope_scaling").empty();
  read_rotary(config, config.has("rope_parameters") ? "rope_parameters" : "rope_scaling", names, c);
  if (both) read_rotary(config, "rope_scaling", names, older);
  require(!both || model_values(older) == model_values(c),
          "{}: \"rope_parameters\" and \"rope_scaling\" are two names of the same and differ; take "
          "out the wrong one",
          config.origin());
}

// Of which reading makes the same width again.
double share_of(const ModelConfig& c) {
  if (c.rope_width == 0) return 1;
  const auto head = static_cast<double>(c.head_width()), turned = static_cast<double>(c.rope_width);
  const double share = turned / head;
  return head * share < turned ? std::nextafter(share, 2.0) : share;
}

}  // namespace

void read_stretching(const ForeignConfig& config, const ForeignConfig& rope,
                     const RotaryKeys& names, ModelConfig& c) {
  c.rope_theta = rope.real("rope_theta", c.rope_theta);
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  if (type == "default") return;
  require(std::ranges::find(names.types, type) != names.types.end(),
          "{}: rotary positions are stretched by \"{}\"; known for this family are {}",
          rope.origin(), type, fmt::join(names.types, ", "));
  read_scaling(config, rope, names, type, c);
}

ForeignJson stretching_json(const ModelConfig& c) {
  ForeignJson made{{"rope_type", "linear"}, {"factor", c.rope_factor}};
  if (c.rope_scaling == RopeScaling::none) return nullptr;
  if (c.rope_scaling == RopeScaling::linear) return made;
  if (c.rope_amplitude > 0) made["attention_factor"] = c.rope_amplitude;
  made[kOriginal] = c.rope_context;
  if (c.rope_scaling == RopeScaling::longrope) {
    made["rope_type"] = "longrope";
    made["short_factor"] = made["long_factor"] = c.rope_factors;
    return made;
  }
  const bool yarn = c.rope_scaling == RopeScaling::yarn;
  made["rope_type"] = yarn ? "yarn" : "llama3";
  made[yarn ? "beta_slow" : "low_freq_factor"] = c.rope_low_frequency;
  made[yarn ? "beta_fast" : "high_freq_factor"] = c.rope_high_frequency;
  return made;
}

void rotary_keys(ForeignConfig& keys, ModelConfig& c, const RotaryKeys& names) {
  c.positions = Positions::rotary;
  if (keys.reads()) read_both(keys, names, c);
  keys.write(names.theta, c.rope_theta);
  keys.write("rope_scaling", stretching_json(c));
  if (names.has_share()) keys.write(names.share, share_of(c));
}

}  // namespace skein::convert
