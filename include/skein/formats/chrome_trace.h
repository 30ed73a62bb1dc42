// Profiles in the Trace Event Format, which chrome://tracing and ui.perfetto.dev show.
#pragma once

#include <string>
#include <vector>

#include "skein/core/profile.h"

namespace skein::formats {

// The events of one rank ("rank 3", a row a thread) as JSON objects between commas; microseconds
// from `origin`.
std::string chrome_trace_events(const std::vector<ProfileEvent>& events, int rank, int64_t origin);

// The file made of the parts of all ranks.
std::string chrome_trace(const std::vector<std::string>& parts);

}  // namespace skein::formats
