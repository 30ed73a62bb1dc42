// Tables of the report as HTML.
#pragma once

#include <string>

#include "skein/scaling/study/study.h"

namespace skein {

// Fits, proofs of convergence, conventions, budgets, laws compared, runs kept out, all runs: each a
// <section>, those without rows left out.
std::string report_tables(const Study& study);

}  // namespace skein
