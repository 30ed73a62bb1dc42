#include "names.h"

namespace skein {

const char* name_of(LossKind kind) {
  switch (kind) {
    case LossKind::huber: return "huber";
    case LossKind::absolute: return "absolute";
    case LossKind::squared: return "squared";
  }
  return "";
}

const char* name_of(Law law) {
  switch (law) {
    case Law::all: return "all";
    case Law::loss_of_n: return "loss_of_n";
    case Law::loss_of_d: return "loss_of_d";
    case Law::loss_of_c: return "loss_of_c";
    case Law::kaplan: return "kaplan";
    case Law::over_training: return "over_training";
    case Law::data_limited: return "data_limited";
  }
  return "";
}

const char* name_of(ParameterCount count) {
  switch (count) {
    case ParameterCount::given: return "given";
    case ParameterCount::blocks: return "blocks";
    case ParameterCount::blocks_head: return "blocks_head";
    case ParameterCount::all: return "all";
  }
  return "";
}

const char* name_of(FlopCount count) {
  switch (count) {
    case FlopCount::given: return "given";
    case FlopCount::six_n: return "six_n";
    case FlopCount::six_n_head: return "six_n_head";
    case FlopCount::exact: return "exact";
  }
  return "";
}

}  // namespace skein
