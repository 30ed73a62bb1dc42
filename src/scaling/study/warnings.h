// What a reader of a study must know before believing it.
#pragma once

#include <string>
#include <vector>

#include "skein/scaling/study/study.h"

namespace skein {

std::vector<std::string> warnings_of(const Study& study);

}  // namespace skein
