#include "design_specs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/models/architecture.h"

namespace skein::scaling::sweep {
namespace {

std::vector<double> numbers_of(const std::vector<std::string>& texts, const char* key) {
  std::vector<double> made;
  for (const std::string& text : texts) made.push_back(number_of(text, key));
  return made;
}

std::vector<ModelConfig> models_of(const SweepConfig& c) {
  require(c.sizes.empty() || c.shapes.empty(),
          "sweep.sizes and sweep.shapes both say which models there are; give one of them");
  const Architecture& kind = *c.run.model.architecture;
  require(
      (c.sizes.empty() && c.shapes.empty()) || kind.reads() != Reads::stories,
      "sweep.sizes and sweep.shapes say how many heads there are, but model.architecture={} has "
      "none; leave them out, and give model.d_model",
      kind.name());
  std::vector<ModelConfig> made;
  for (double size : numbers_of(c.sizes, "sweep.sizes"))
    made.push_back(shape_for(size, c.run.model, c.shape));
  for (const std::string& shape : c.shapes)
    made.push_back(model_of_shape(shape, c, "sweep.shapes"));
  return made;
}

std::string shape_of(const CellSpec& spec) {
  return fmt::format("{}x{}", spec.model.n_layers, spec.model.d_model);
}

template <class Value>
bool empty_or_has(const std::vector<Value>& values, const Value& value) {
  return values.empty() || std::ranges::count(values, value) > 0;
}

bool is_repeated(const SweepConfig& c, const CellSpec& spec) {
  return !c.repeat_seeds.empty() && empty_or_has(c.repeat_shapes, shape_of(spec)) &&
         empty_or_has(numbers_of(c.repeat_budgets, "sweep.repeat_budgets"), spec.budget);
}

std::vector<int64_t> seeds_of(const SweepConfig& c, const CellSpec& spec) {
  std::vector<int64_t> seeds =
      c.seeds.empty() ? std::vector<int64_t>(1, c.run.train.seed) : c.seeds;
  if (is_repeated(c, spec))
    for (int64_t seed : c.repeat_seeds)
      if (std::ranges::count(seeds, seed) == 0) seeds.push_back(seed);
  for (int64_t seed : seeds)
    require(seed >= 0, "sweep.seeds and sweep.repeat_seeds: {} must be at least 0", seed);
  return seeds;
}

// spec with every rate, batch and seed.
void add_settings(const SweepConfig& c, const CellSpec& spec, std::vector<CellSpec>& to) {
  const std::vector<double> own{0};
  const auto rates = c.lr.empty() ? own : numbers_of(c.lr, "sweep.lr"),
             batches = c.batch.empty() ? own : numbers_of(c.batch, "sweep.batch");
  const std::vector<int64_t> seeds = seeds_of(c, spec);
  for (double lr : rates)
    for (double batch : batches)
      for (int64_t seed : seeds)
        to.push_back({spec.model, spec.tokens, spec.budget, lr, batch, seed});
}

void check_repeats(const SweepConfig& c) {
  const bool where = !c.repeat_shapes.empty() || !c.repeat_budgets.empty();
  require(c.repeat_seeds.empty() == !where,
          "sweep.repeat_seeds={} is for some cells: give it with sweep.repeat_shapes={} or "
          "sweep.repeat_budgets={}; sweep.seeds is for all",
          fmt::join(c.repeat_seeds, ","), fmt::join(c.repeat_shapes, ","),
          fmt::join(c.repeat_budgets, ","));
  require(!where || c.kind != SweepConfig::Kind::list,
          "sweep.repeat_seeds is not for sweep.kind=list, whose column seed says which seeds there "
          "are");
  require(c.repeat_budgets.empty() || c.kind == SweepConfig::Kind::isoflop,
          "sweep.repeat_budgets={} are for sweep.kind=isoflop only; name the cells by "
          "sweep.repeat_shapes",
          fmt::join(c.repeat_budgets, ","));
}

// A name that nothing bears would be silently ignored.
void check_repeated(const SweepConfig& c, const std::vector<CellSpec>& specs) {
  for (const std::string& shape : c.repeat_shapes) {
    std::set<std::string> shapes;
    bool found = false;
    for (const CellSpec& spec : specs) {
      shapes.insert(shape_of(spec));
      found = found || (shape_of(spec) == shape && is_repeated(c, spec));
    }
    require(found, "sweep.repeat_shapes: there is no model {} here{}; there are {}", shape,
            c.repeat_budgets.empty()
                ? ""
                : fmt::format(" at sweep.repeat_budgets={}", fmt::join(c.repeat_budgets, ",")),
            fmt::join(shapes, ", "));
  }
  for (double budget : numbers_of(c.repeat_budgets, "sweep.repeat_budgets"))
    require(std::ranges::count(specs, budget, &CellSpec::budget) > 0,
            "sweep.repeat_budgets: {:g} is none of sweep.budgets={}", budget,
            fmt::join(c.budgets, ","));
}

std::vector<CellSpec> grid_specs(const SweepConfig& c) {
  require(c.tokens.empty() != c.tokens_per_parameter.empty(),
          "a grid needs sweep.tokens or sweep.tokens_per_parameter, one of them");
  std::vector<ModelConfig> models = models_of(c);
  if (models.empty()) models.push_back(c.run.model);
  std::vector<CellSpec> made;
  for (const ModelConfig& model : models) {
    for (double tokens : numbers_of(c.tokens, "sweep.tokens"))
      add_settings(c, {model, tokens}, made);
    for (double ratio : numbers_of(c.tokens_per_parameter, "sweep.tokens_per_parameter"))
      add_settings(c, {model, ratio * model.parameters()}, made);
  }
  return made;
}

// sizes_per_budget of them, a factor of spread apart, around the budget's centre.
std::vector<ModelConfig> models_around(double centre, const SweepConfig& c) {
  std::vector<ModelConfig> made;
  const double middle = (c.sizes_per_budget - 1) / 2.0;
  for (int64_t i = 0; i < c.sizes_per_budget; ++i)
    made.push_back(shape_for(centre * std::pow(c.spread, i - middle), c.run.model, c.shape));
  return made;
}

void check_isoflop(const SweepConfig& c) {
  require(!c.budgets.empty(), "sweep.kind=isoflop needs sweep.budgets, FLOPs of a run");
  require(c.tokens.empty() && c.tokens_per_parameter.empty(),
          "sweep.kind=isoflop takes tokens from the budgets; leave out sweep.tokens and "
          "sweep.tokens_per_parameter");
  const bool named = !c.sizes.empty() || !c.shapes.empty();
  require(
      named != (c.sizes_per_budget > 0),
      "sweep.kind=isoflop needs sweep.sizes, sweep.shapes or sweep.sizes_per_budget, one of them");
  require(c.sizes_per_budget >= 0 && c.sizes_per_budget <= 1000 && c.spread > 1 && c.spread <= 100,
          "sweep.sizes_per_budget={} must be 1 to 1000, sweep.spread={} above 1",
          c.sizes_per_budget, c.spread);
  require(c.centre_ratio > 0 && std::isfinite(c.centre_ratio),
          "sweep.centre_ratio={} must be above 0", c.centre_ratio);
  require(c.centres.empty() || (c.centres.size() == c.budgets.size() && c.sizes_per_budget > 0),
          "sweep.centres has {} sizes for {} budgets; give one each, with sweep.sizes_per_budget",
          c.centres.size(), c.budgets.size());
}

std::vector<CellSpec> isoflop_specs(const SweepConfig& c) {
  check_isoflop(c);
  const std::vector<double> budgets = numbers_of(c.budgets, "sweep.budgets"),
                            centres = numbers_of(c.centres, "sweep.centres");
  const std::vector<ModelConfig> same = models_of(c);
  std::vector<CellSpec> made;
  for (size_t i = 0; i < budgets.size(); ++i) {
    const double centre =
        centres.empty() ? std::sqrt(budgets[i] / (6 * c.centre_ratio)) : centres[i];
    for (const ModelConfig& model : c.sizes_per_budget ? models_around(centre, c) : same)
      add_settings(c, {model, budgets[i] / flops_per_token(counts_of(model), c.flops), budgets[i]},
                   made);
  }
  return made;
}

}  // namespace

ModelConfig model_of_shape(const std::string& text, const SweepConfig& c,
                           const std::string& origin) {
  const size_t x = text.find('x');
  const auto number = [](std::string_view part) {
    return parsed_number<int64_t>(part).value_or(0);
  };
  const int64_t layers = number(text.substr(0, x)),
                width = x == text.npos ? 0 : number(text.substr(x + 1));
  require(layers > 0 && width > 0, "{}: \"{}\" is no shape; write LAYERSxWIDTH, as 3x48", origin,
          text);
  return with_shape(c.run.model, layers, width, c.shape.d_head);
}

std::vector<CellSpec> cell_specs(const SweepConfig& c) {
  require(c.run.model.vocab_size > 0 || !c.run.model.architecture->has_vocabulary(),
          "model.vocab_size={} is not known yet", c.run.model.vocab_size);
  require(c.kind == SweepConfig::Kind::list || c.list.empty(),
          "sweep.list={} is read by sweep.kind=list only", c.list);
  check_repeats(c);
  if (c.kind == SweepConfig::Kind::list) return listed_specs(c);
  require(c.kind == SweepConfig::Kind::isoflop || c.budgets.empty(),
          "sweep.budgets are read by sweep.kind=isoflop only");
  std::vector<CellSpec> made =
      c.kind == SweepConfig::Kind::isoflop ? isoflop_specs(c) : grid_specs(c);
  check_repeated(c, made);
  return made;
}

}  // namespace skein::scaling::sweep
