#include "skein/scaling/laws/shape.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/models/architecture.h"
#include "skein/models/description.h"
#include "skein/models/flops.h"
#include "skein/nn/cost.h"

namespace skein::scaling {
namespace {

constexpr double kAspectWeight = 0.1, kMostOff = 1.5;

// All blocks are alike.
int64_t numbers_of_a_block(const ModelConfig& model) {
  Parameters block(DType::f32, 0, 1);
  describe(model, {0, 1, false, false, 0}, block);
  return learned_numbers(block);
}

int64_t scaled_feed_forward(const ModelConfig& base, int64_t d_model) {
  if (base.d_ff == 0) return 0;
  const double wanted = 1.0 * base.d_ff * d_model / base.d_model;
  return std::max<int64_t>(8, std::llround(wanted / 8) * 8);
}

// Of the divisors of `heads` that `together` divides the nearest to `wanted`, by their ratio.
int64_t nearest_divisor(int64_t heads, double wanted, int64_t together) {
  const auto off = [&](int64_t made) { return std::abs(std::log(made / wanted)); };
  int64_t best = together;
  for (int64_t made = together; made <= heads; made += together)
    if (heads % made == 0 && off(made) < off(best)) best = made;
  return best;
}

int64_t scaled_kv_heads(const ModelConfig& base, int64_t heads, int64_t together) {
  if (base.n_kv_heads == 0 || heads == base.n_heads) return base.n_kv_heads;
  if (together > 1) {
    const double share = ratio(base.n_kv_heads, base.n_heads);
    const double wanted = std::max(1.0, heads * share);
    while (together > 1 && (heads % together != 0 || together >= 2 * wanted)) together /= 2;
    return nearest_divisor(heads, wanted, together);
  }
  int64_t made = std::max<int64_t>(1, heads * base.n_kv_heads / base.n_heads);
  while (heads % made != 0) --made;
  return made;
}

struct Nearest {
  std::map<int64_t, int64_t> of_a_block = {};  // learned numbers, by heads
  ModelConfig model;
  double cost = std::numeric_limits<double>::infinity(), parameters = 0;
};

// Parameters grow with the width, so that of one depth only the widths around the wanted number can
// be best.
void try_layers(int64_t layers, double wanted, const ModelConfig& base, const ShapeRule& rule,
                Nearest& best) {
  const int64_t together = rule.heads_together;
  for (int64_t heads = rounded_up(rule.least_heads, together);; heads += together) {
    const ModelConfig model = with_shape(base, layers, heads * rule.d_head, rule.d_head, together);
    int64_t& of_a_block = best.of_a_block[heads];
    if (of_a_block == 0) of_a_block = numbers_of_a_block(model);
    SKEIN_CHECK(of_a_block > 0);
    const double parameters = static_cast<double>(of_a_block * layers),
                 aspect = static_cast<double>(model.d_model) / static_cast<double>(layers);
    const double cost = std::abs(std::log(parameters / wanted)) +
                        kAspectWeight * std::abs(std::log(aspect / rule.aspect));
    if (cost < best.cost) best.model = model, best.cost = cost, best.parameters = parameters;
    if (parameters > kMostOff * wanted) return;
  }
}

}  // namespace

ModelConfig with_shape(const ModelConfig& base, int64_t layers, int64_t d_model, int64_t d_head,
                       int64_t heads_together) {
  require(layers > 0 && d_model > 0 && d_head > 0 && d_model % d_head == 0,
          "a model of {} layers of width {} cannot have heads of width {}: the width must be a "
          "multiple of it (sweep.d_head)",
          layers, d_model, d_head);
  ModelConfig made = base;
  made.n_layers = layers;
  made.d_model = d_model;
  made.n_heads = d_model / d_head;
  made.d_head = base.d_head ? d_head : 0;
  made.n_kv_heads = scaled_kv_heads(base, made.n_heads, heads_together);
  made.d_ff = scaled_feed_forward(base, d_model);
  return made;
}

ModelConfig shape_for(double wanted, const ModelConfig& base, const ShapeRule& rule) {
  require(std::isfinite(wanted) && wanted >= 1 && wanted <= 1e15,
          "a model cannot be made of {} block parameters; give 1 to 1e15", wanted);
  SKEIN_CHECK(rule.heads_together > 0);
  require(rule.d_head > 0 && rule.least_heads > 0 && rule.most_layers > 0 && rule.aspect > 0 &&
              std::isfinite(rule.aspect),
          "shapes need a head size, a least number of heads, a most number of layers and an aspect "
          "above 0, not {}, {}, {} and {}",
          rule.d_head, rule.least_heads, rule.most_layers, rule.aspect);
  Nearest best;
  for (int64_t layers = 1; layers <= rule.most_layers; ++layers)
    try_layers(layers, wanted, base, rule, best);
  require(best.parameters <= kMostOff * wanted && wanted <= kMostOff * best.parameters,
          "no model with heads of width {}, at least {} of them and at most {} layers has about "
          "{:.4g} block parameters: the nearest, {} x {}, has {:.4g}; change sweep.d_head, "
          "sweep.least_heads or sweep.most_layers",
          rule.d_head, rule.least_heads, rule.most_layers, wanted, best.model.n_layers,
          best.model.d_model, best.parameters);
  return best.model;
}

ModelCounts counts_of(const ModelConfig& model) {
  ModelCounts counts;
  Parameters all(DType::f32, 0, 1);
  describe(model, whole_piece(model), all);
  counts.blocks =
      learned_numbers(all, [](const Parameter& one) { return one.part.block_number >= 0; });
  counts.embedding =
      learned_numbers(all, [](const Parameter& one) { return one.meets == RowKind::looked_up; });
  counts.head = model.architecture->has_vocabulary()
                    ? static_cast<double>(model.d_model * model.vocab_size)
                    : learned_numbers(all, [](const Parameter& one) {
                        return one.part.kind == Part::label_head;
                      });
  counts.all = learned_numbers(all);
  counts.flops_per_token = model_flops_per_token(model, model.context);
  return counts;
}

const std::vector<std::string>& hyperparameter_rules() {
  static const std::vector<std::string> rules{"kaplan", "porian", "deepseek", "step_law"};
  return rules;
}

Hyperparameters hyperparameters(const std::string& rule, const ModelCounts& counts, double tokens) {
  const double with_head = counts.blocks + counts.head;
  Hyperparameters made;
  if (rule == "kaplan")
    made = {0.003239 - 0.0001395 * std::log(counts.blocks), 0};
  else if (rule == "porian")
    made = {0.0047 * std::pow(with_head / 1.08e8, -1.0 / 3),
            160 * 2048 * std::pow(with_head / 1.08e8, 2.0 / 3)};
  else if (rule == "deepseek") {
    const double flops = counts.flops_per_token * tokens;
    made = {0.3118 * std::pow(flops, -0.125), 0.2920 * std::pow(flops, 0.3271)};
  } else if (rule == "step_law")
    made = {1.79 * std::pow(counts.blocks, -0.713) * std::pow(tokens, 0.307),
            0.58 * std::pow(tokens, 0.571)};
  else
    fail_usage("there is no rule '{}' for the learning rate; there are {}", rule,
               fmt::join(hyperparameter_rules(), ", "));
  require(made.lr > 0,
          "the rule {} gives a learning rate of {:.3g} for {:.3g} block parameters, which it was "
          "not made for; take another rule",
          rule, made.lr, counts.blocks);
  return made;
}

}  // namespace skein::scaling
