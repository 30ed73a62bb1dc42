// Threads that kernels of the calling thread use. Results never depend on their number.
#pragma once

namespace skein::kernels {

void set_threads(int threads);
int threads();

}  // namespace skein::kernels
