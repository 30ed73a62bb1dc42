#include "skein/scaling/plan/plan.h"

#include <cstdio>

#include "skein/comm/world.h"
#include "skein/core/files/result_file.h"
#include "skein/core/log.h"

#include "command.h"

namespace skein::cli {
namespace {

void check_given(const Options& options) {
  require(!(options.given("plan.law") && options.given("plan.fit")),
          "plan.law and plan.fit are both given; give the law to go by");
  if (options.given("plan.train_tokens")) return;  // of a model that is given
  require(
      !options.given("model.n_layers"),
      "model.n_layers is what a plan finds; leave it out, or give plan.train_tokens for a model "
      "that is given");
  require(!options.given("model.d_model") || options.given("model.d_ff"),
          "model.d_model is what a plan finds; leave it out, or give it with model.d_ff for the "
          "proportion of both");
  require(!options.given("model.n_heads") || options.given("model.n_kv_heads"),
          "model.n_heads is what a plan finds; leave it out, or give it with model.n_kv_heads for "
          "the proportion of both");
}

void write(const std::string& option, const std::string& path, const std::string& text) {
  if (path.empty()) return;
  write_result(option, path, text);
  log::info("{} in {}", option, path);
}

}  // namespace

int plan_command(const std::vector<std::string>& args, std::unique_ptr<Group>&) {
  scaling::plan::PlanOptions plan = scaling::plan::plan_defaults();
  std::string output, config;
  Options options(
      "skein plan",
      "From a budget, or a model and its tokens, to settings, layout, run time and cost, by a "
      "scaling law.");
  bind(options, plan);
  options.add("plan.config", config, "INI to write, for `skein pretrain --config`");
  options.add("output.path", output, "JSON to write");
  if (!parse(options, args, false)) return 0;
  // One process is enough; the others of a launcher have nothing to add.
  if (detect_launch().rank > 0) return 0;
  check_given(options);
  const scaling::plan::Plan made = make_plan(plan);
  const std::string ini = config.empty() ? "" : plan_config(made);
  std::fputs(plan_text(made).c_str(), stdout);
  std::fflush(stdout);  // before what the log says of files
  write("output.path", output, plan_json(made));
  write("plan.config", config, ini);
  return 0;
}

}  // namespace skein::cli
