#include "skein/rlhf/dpo/losses.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/values.h"

namespace skein::rlhf::dpo {
namespace {

const std::vector<std::pair<std::string, DpoKind>>& kinds() {
  static const std::vector<std::pair<std::string, DpoKind>> all{{"dpo", DpoKind::dpo},
                                                                {"ipo", DpoKind::ipo},
                                                                {"simpo", DpoKind::simpo},
                                                                {"kto", DpoKind::kto}};
  return all;
}

// "beta" of "dpo.beta".
std::string short_name(const std::string& key) { return key.substr(key.find('.') + 1); }

bool reads(DpoKind kind, const std::string& name) {
  const auto numbers = numbers_of({.kind = kind});
  return name == "loss" || std::any_of(numbers.begin(), numbers.end(),
                                       [&](const auto& number) { return number.first == name; });
}

// "ipo" or "dpo, simpo": the losses that read an option.
std::string readers_of(const std::string& name) {
  std::string list;
  for (const auto& [text, kind] : kinds())
    if (reads(kind, name)) list += (list.empty() ? "" : " or ") + text;
  return list;
}

}  // namespace

const char* name_of(DpoKind kind) {
  for (const auto& [text, known] : kinds())
    if (known == kind) return text.c_str();
  SKEIN_CHECK(false);
}

void bind(Options& options, DpoConfig& config) {
  options.add_choice("dpo.loss", config.kind, kinds(),
                     "what is learnt, see docs/dpo.md: of pairs by dpo, ipo or simpo (without a "
                     "reference), or of single answers by kto");
  options.add("dpo.beta", config.beta,
              fmt::format("how closely the policy is held to the reference; simpo: the scale of "
                          "its rewards, {} if not given",
                          kSimpoBeta));
  options.add("dpo.label_smoothing", config.label_smoothing,
              "dpo: share of pairs held to be labelled the wrong way round");
  options.add("dpo.token_mean", config.token_mean,
              "ipo: log-probabilities are means over an answer's tokens, as in TRL, not sums, as "
              "in the paper");
  options.add("dpo.gamma", config.gamma,
              "simpo: by so much the reward of the chosen answer shall be the higher one");
  options.add("dpo.desirable_weight", config.desirable_weight,
              "kto: weight of the loss of desirable answers");
  options.add("dpo.undesirable_weight", config.undesirable_weight,
              "kto: weight of the loss of undesirable answers");
}

void settle(Options& options, const DpoConfig& config) {
  const std::string loss = name_of(config.kind);
  DpoConfig standard;
  Options defaults("", "");
  bind(defaults, standard);
  const auto now = options.values();
  for (const auto& [key, usual] : defaults.values()) {
    if (reads(config.kind, short_name(key)) || !options.given(key)) continue;
    const auto given = std::find_if(now.begin(), now.end(), [&, &key = key](const auto& option) {
      return option.first == key;
    });
    require(given->second == usual,
            "{}={} was given, but dpo.loss={} does not read it; leave it out, or take dpo.loss={}",
            key, given->second, loss, readers_of(short_name(key)));
  }
  if (config.kind == DpoKind::simpo && !options.given("dpo.beta"))
    options.set("dpo.beta", fmt::format("{}", kSimpoBeta), "dpo.loss=simpo");
}

void check(const DpoConfig& config) {
  require(std::isfinite(config.beta) && config.beta > 0, "dpo.beta={} must be above 0",
          config.beta);
  require(config.label_smoothing >= 0 && config.label_smoothing < 0.5,
          "dpo.label_smoothing={} must be at least 0 and below 0.5", config.label_smoothing);
  require(std::isfinite(config.gamma) && config.gamma >= 0, "dpo.gamma={} must be a number from 0",
          config.gamma);
  for (const auto& [name, weight] : {std::pair("dpo.desirable_weight", config.desirable_weight),
                                     {"dpo.undesirable_weight", config.undesirable_weight}})
    require(std::isfinite(weight) && weight > 0, "{}={} must be above 0", name, weight);
}

NamedValues numbers_of(const DpoConfig& config) {
  NamedValues made{{"beta", config.beta}};
  switch (config.kind) {
    case DpoKind::dpo: made.emplace_back("label_smoothing", config.label_smoothing); break;
    case DpoKind::ipo: made.emplace_back("token_mean", config.token_mean); break;
    case DpoKind::simpo: made.emplace_back("gamma", config.gamma); break;
    case DpoKind::kto:
      made.emplace_back("desirable_weight", config.desirable_weight);
      made.emplace_back("undesirable_weight", config.undesirable_weight);
  }
  return made;
}

DpoLoss dpo_loss(const PairLogp& pair, const DpoConfig& config) {
  DpoLoss found;
  found.chosen_reward = config.beta * (pair.chosen - pair.ref_chosen);
  found.rejected_reward = config.beta * (pair.rejected - pair.ref_rejected);
  const double margin = found.chosen_reward - found.rejected_reward,
               smoothing = config.label_smoothing;
  found.loss = -(1 - smoothing) * log_sigmoid(margin) - smoothing * log_sigmoid(-margin);
  found.derivative =
      config.beta * (smoothing * sigmoid(margin) - (1 - smoothing) * sigmoid(-margin));
  return found;
}

DpoLoss ipo_loss(const PairLogp& pair, const DpoConfig& config) {
  const double chosen = pair.chosen - pair.ref_chosen, rejected = pair.rejected - pair.ref_rejected;
  const double miss = chosen - rejected - 1 / (2 * config.beta);
  return {miss * miss, 2 * miss, config.beta * chosen, config.beta * rejected};
}

DpoLoss simpo_loss(const PairLogp& pair, const DpoConfig& config) {
  const double chosen = config.beta * pair.chosen, rejected = config.beta * pair.rejected,
               margin = chosen - rejected - config.gamma;
  return {-log_sigmoid(margin), -config.beta * sigmoid(-margin), chosen, rejected};
}

DpoLoss pair_loss(const PairLogp& pair, const DpoConfig& config) {
  switch (config.kind) {
    case DpoKind::dpo: return dpo_loss(pair, config);
    case DpoKind::ipo: return ipo_loss(pair, config);
    case DpoKind::simpo: return simpo_loss(pair, config);
    case DpoKind::kto: break;
  }
  SKEIN_CHECK(false);
}

KtoLoss kto_loss(double log_ratio, bool desirable, double reference_point,
                 const DpoConfig& config) {
  const double sign = desirable ? 1 : -1,
               weight = desirable ? config.desirable_weight : config.undesirable_weight;
  const double gain = sign * config.beta * (log_ratio - reference_point), missing = sigmoid(-gain);
  return {weight * missing, -weight * sign * config.beta * sigmoid(gain) * missing,
          config.beta * log_ratio};
}

}  // namespace skein::rlhf::dpo
