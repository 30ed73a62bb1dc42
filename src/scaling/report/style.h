// Look and behaviour of the page, which loads nothing from elsewhere.
#pragma once

#include <string>

namespace skein {

std::string report_style();
std::string report_behaviour();

}  // namespace skein
