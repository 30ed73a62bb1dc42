// What is computed by the same lines on every device.
#pragma once

#ifdef __CUDACC__
#define SKEIN_ANYWHERE __host__ __device__
#else
#define SKEIN_ANYWHERE
#endif
