// Words of options and JSON for what a study can be told.
#pragma once

#include "skein/scaling/study/study.h"

namespace skein {

const char* name_of(LossKind kind);         // huber, absolute, squared
const char* name_of(Law law);               // as fit.law has them
const char* name_of(ParameterCount count);  // given, blocks, blocks_head, all
const char* name_of(FlopCount count);       // given, six_n, six_n_head, exact

}  // namespace skein
