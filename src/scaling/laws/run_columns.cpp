#include "run_columns.h"

namespace skein::scaling {

const std::vector<RunColumn>& run_columns() {
  static const std::vector<RunColumn> columns{
      {{"run", "run_id"}, &ScalingRun::name},
      {{"status"}, &ScalingRun::status},
      {{"reason"}, &ScalingRun::reason},
      {{"folder"}, &ScalingRun::folder},
      {{"seed"}, &ScalingRun::seed},
      {{"d_model"}, &ScalingRun::d_model, false},
      {{"n_layers"}, &ScalingRun::n_layers, false},
      {{"n_heads"}, &ScalingRun::n_heads, false},
      {{"vocab_size"}, &ScalingRun::vocab_size, false},
      {{"context"}, &ScalingRun::context, false},
      {{"n_blocks", "n_params_nonemb"}, &ScalingRun::n_blocks, false},
      {{"n_embedding"}, &ScalingRun::n_embedding},
      {{"n_head"}, &ScalingRun::n_head},
      {{"n_all"}, &ScalingRun::n_all, false},
      {{"n_params", "params", "parameters"}, &ScalingRun::n_params, false},
      {{"tokens", "n_tokens"}, &ScalingRun::tokens, false},
      {{"unique_tokens"}, &ScalingRun::unique_tokens, false},
      {{"flops"}, &ScalingRun::flops, false},
      {{"flops_exact"}, &ScalingRun::flops_exact, false},
      {{"lr"}, &ScalingRun::lr},
      {{"global_batch"}, &ScalingRun::global_batch},
      {{"steps"}, &ScalingRun::steps},
      {{"loss"}, &ScalingRun::loss},
      {{"train_loss"}, &ScalingRun::train_loss},
      {{"seconds"}, &ScalingRun::seconds},
  };
  return columns;
}

}  // namespace skein::scaling
