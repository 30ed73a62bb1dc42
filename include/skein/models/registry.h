// The list of all architectures. A new one is a folder of models/ and an entry in registry.cpp.
#pragma once

#include <span>

namespace skein {

class Architecture;

// A model that names none has the first.
std::span<const Architecture* const> architectures();

}  // namespace skein
