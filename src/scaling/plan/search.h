// Which shapes a budget can buy, and what a law expects of them.
#pragma once

#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include "skein/scaling/plan/plan.h"

namespace skein::scaling::plan {

// Of laws or of kinds of machines, between commas.
template <class Named>
std::string names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// As parallel.recompute has them.
const char* name_of(Recompute recompute);

// Batches that are so many times the rule's, or less than its part, are another batch.
constexpr double kOtherBatch = 1.5;

class PlanSearch {
 public:
  // machine: what costs are of. size: of the law's optimum, in its counts. The references outlive
  // it.
  PlanSearch(const PlanOptions& options, const PlanLaw& law, const Machine& machine, double flops,
             double size);

  // None where the rule has no such shape.
  std::optional<ModelConfig> shape(double block_parameters) const;
  // The whole budget on this shape.
  Proposal spent(const ModelConfig& model) const;
  Proposal best() const;
  // The model of the options on its train_tokens.
  Proposal given() const { return trained(options_.model, options_.train_tokens); }
  // This shape on so many tokens; its penalty against `proposal`.
  Proposal trained(const ModelConfig& model, double tokens, const Proposal& proposal) const;
  // This shape on as many tokens as bring it to the loss of `proposal`.
  Proposal matching(const ModelConfig& model, const Proposal& proposal) const;

 private:
  Proposal untrained(const ModelConfig& model) const;
  Proposal trained(const ModelConfig& model, double tokens) const;
  // Tokens for this loss, at most the `most`, which also stand for any more.
  double tokens_for(const ChinchillaLaw& draw, double n, double loss, double most) const;
  double predict(const ChinchillaLaw& draw, double n, double d) const;
  double badness(const Proposal& proposal) const;

  const PlanOptions& options_;
  const PlanLaw& law_;
  const Machine& machine_;
  double flops_, size_;
  ShapeRule rule_;
};

}  // namespace skein::scaling::plan
