// What time it is, in seconds.
#pragma once

namespace skein {

// Since some moment, of a clock that nobody sets: for how long something takes.
double steady_seconds();
// Since 1970, of the system's clock.
double system_seconds();

}  // namespace skein
