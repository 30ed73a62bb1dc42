// Words of options and JSON for what a study can be told.
#pragma once

#include "skein/scaling/study.h"

namespace skein {

const char* name_of(LossKind kind);         // huber, absolute, squared
const char* name_of(Law law);               // all, loss_of_n, loss_of_d, loss_of_c, kaplan, over_training, data_limited
const char* name_of(ParameterCount count);  // given, blocks, blocks_head, all
const char* name_of(FlopCount count);       // given, six_n, six_n_head, exact

}  // namespace skein
