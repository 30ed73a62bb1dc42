#include <cmath>

#include "skein/scaling/results.h"

#include <fmt/format.h>

namespace skein {
namespace {

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char byte : text) quoted += byte == '"' ? std::string("\"\"") : std::string(1, byte);
  return quoted + "\"";
}

std::string field(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }
std::string whole(int64_t value) { return value ? fmt::format("{}", value) : ""; }

std::string line_of(const ScalingRun& run) {
  const Convention all{ParameterCount::all, FlopCount::six_n}, head{ParameterCount::blocks_head, FlopCount::six_n_head};
  std::vector<std::string> fields = {field(run.name), field(run.status), field(run.reason), field(run.folder), fmt::format("{}", run.seed)};
  for (const int64_t value : {run.d_model, run.n_layers, run.n_heads, run.vocab_size, run.context}) fields.push_back(whole(value));
  for (const double value : {run.n_blocks, run.n_embedding, run.n_head, run.n_all, run.n_params, run.tokens, flops_of(run, all), flops_of(run, head),
                             run.flops_exact, run.lr, run.global_batch, run.steps, run.loss, run.train_loss, run.seconds})
    fields.push_back(field(value));
  return fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace

std::string table_csv(const std::vector<ScalingRun>& runs) {
  std::string text =
      "run,status,reason,folder,seed,d_model,n_layers,n_heads,vocab_size,context,n_blocks,n_embedding,n_head,n_all,n_params,tokens,flops_6n,flops_6n_head,"
      "flops_exact,lr,global_batch,steps,loss,train_loss,seconds\n";
  for (const ScalingRun& run : runs) text += line_of(run);
  return text;
}

std::string curves_csv(const std::vector<ScalingRun>& runs) {
  std::string text = "run,tokens,loss\n";
  for (const ScalingRun& run : runs)
    for (const CurvePoint& point : run.curve) text += fmt::format("{},{},{}\n", field(run.name), field(point.tokens), field(point.loss));
  return text;
}

}  // namespace skein
