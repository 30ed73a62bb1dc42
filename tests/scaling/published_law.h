// A published law by its name.
#pragma once

#include <stdexcept>
#include <string>

#include "skein/scaling/laws/law.h"

namespace skein::test {

inline const scaling::PublishedLaw& published_law(const std::string& name) {
  for (const scaling::PublishedLaw& law : scaling::published_laws())
    if (law.name == name) return law;
  throw std::runtime_error("there is no published law " + name);
}

}  // namespace skein::test
