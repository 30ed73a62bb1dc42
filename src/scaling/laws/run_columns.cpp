#include "run_columns.h"

namespace skein {
namespace {

using Run = ScalingRun;
using Names = std::vector<std::string>;

RunColumn text(Names names, std::string Run::*member) {
  return {std::move(names), true, member, nullptr, nullptr};
}
RunColumn seed(Names names, int64_t Run::*member) {
  return {std::move(names), true, nullptr, member, nullptr};
}
RunColumn whole(Names names, int64_t Run::*member) {
  return {std::move(names), false, nullptr, member, nullptr};
}
RunColumn number(Names names, double Run::*member) {
  return {std::move(names), true, nullptr, nullptr, member};
}
RunColumn positive(Names names, double Run::*member) {
  return {std::move(names), false, nullptr, nullptr, member};
}

}  // namespace

const std::vector<RunColumn>& run_columns() {
  static const std::vector<RunColumn> columns{
      text({"run", "run_id"}, &Run::name),
      text({"status"}, &Run::status),
      text({"reason"}, &Run::reason),
      text({"folder"}, &Run::folder),
      seed({"seed"}, &Run::seed),
      whole({"d_model"}, &Run::d_model),
      whole({"n_layers"}, &Run::n_layers),
      whole({"n_heads"}, &Run::n_heads),
      whole({"vocab_size"}, &Run::vocab_size),
      whole({"context"}, &Run::context),
      positive({"n_blocks", "n_params_nonemb"}, &Run::n_blocks),
      number({"n_embedding"}, &Run::n_embedding),
      number({"n_head"}, &Run::n_head),
      positive({"n_all"}, &Run::n_all),
      positive({"n_params", "params", "parameters"}, &Run::n_params),
      positive({"tokens", "n_tokens"}, &Run::tokens),
      positive({"unique_tokens"}, &Run::unique_tokens),
      positive({"flops"}, &Run::flops),
      positive({"flops_exact"}, &Run::flops_exact),
      number({"lr"}, &Run::lr),
      number({"global_batch"}, &Run::global_batch),
      number({"steps"}, &Run::steps),
      number({"loss"}, &Run::loss),
      number({"train_loss"}, &Run::train_loss),
      number({"seconds"}, &Run::seconds),
  };
  return columns;
}

}  // namespace skein
