// The architectures there are.
#pragma once

#include <span>

namespace skein {

class Architecture;

// The first is the one of a model that names none.
std::span<const Architecture* const> architectures();

}  // namespace skein
