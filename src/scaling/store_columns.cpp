#include "store_columns.h"

namespace skein {
namespace {

using Run = ScalingRun;

StoreColumn text(const char* name, std::string Run::*member) { return {name, member, nullptr, nullptr}; }
StoreColumn integer(const char* name, int64_t Run::*member) { return {name, nullptr, member, nullptr}; }
StoreColumn number(const char* name, double Run::*member) { return {name, nullptr, nullptr, member}; }

}  // namespace

const std::vector<StoreColumn>& store_columns() {
  static const std::vector<StoreColumn> columns{
      text("run", &Run::name),
      text("status", &Run::status),
      text("reason", &Run::reason),
      text("folder", &Run::folder),
      integer("seed", &Run::seed),
      integer("d_model", &Run::d_model),
      integer("n_layers", &Run::n_layers),
      integer("n_heads", &Run::n_heads),
      integer("vocab_size", &Run::vocab_size),
      integer("context", &Run::context),
      number("n_blocks", &Run::n_blocks),
      number("n_embedding", &Run::n_embedding),
      number("n_head", &Run::n_head),
      number("n_all", &Run::n_all),
      number("n_params", &Run::n_params),
      number("tokens", &Run::tokens),
      number("flops", &Run::flops),
      number("flops_exact", &Run::flops_exact),
      number("lr", &Run::lr),
      number("global_batch", &Run::global_batch),
      number("steps", &Run::steps),
      number("loss", &Run::loss),
      number("train_loss", &Run::train_loss),
      number("seconds", &Run::seconds),
  };
  return columns;
}

}  // namespace skein
