#include <fmt/format.h>

#include "skein/scaling/plan/plan.h"

namespace skein::scaling::plan {

void bind(Options& options, PlanOptions& plan) {
  const auto rules = [&](const std::string& key, std::string& field, const std::string& help) {
    options.add(key, field,
                fmt::format("{}: fit (as the runs of plan.fit), {}; empty: fit where it says, else "
                            "step_law",
                            help, fmt::join(hyperparameter_rules(), ", ")));
  };
  options.add(
      "plan.budget", plan.budget_text,
      "what the run may compute: FLOPs as 1e22, or all devices' time as 5000h or 200 GPU-days");
  options.add("plan.gpu_hours", plan.gpu_hours, "or how long devices may compute, all together",
              "hours");
  options.add("plan.train_tokens", plan.train_tokens,
              "or that a given model is to learn: model.n_layers, model.d_model and model.n_heads, "
              "or --config FILE, then say which",
              "tokens");
  options.add("plan.law", plan.law,
              "published law to go by: kaplan, chinchilla, chinchilla-replication, muennighoff");
  options.add("plan.fit", plan.fit, "JSON of `skein fit --output.path` to go by instead");
  options.add("plan.tokens", plan.tokens, "that there are; more are seen again; 0: enough",
              "tokens");
  rules("plan.lr_rule", plan.lr_rule, "of the learning rate");
  rules("plan.batch_rule", plan.batch_rule, "of the batch");
  options.add("plan.d_head", plan.d_head, "width of a head; 0: by the size of the model");
  options.add("plan.aspect", plan.aspect,
              "width over layers that is aimed at; 0: by the size of the model");
  bind(options, plan.machine);
  bind(options, plan.model);
}

}  // namespace skein::scaling::plan
