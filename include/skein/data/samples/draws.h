// A short sequence of random numbers for one thing, such as a sample: a pure function of its key.
#pragma once

#include "skein/core/philox.h"

namespace skein::data {

class Draws {
 public:
  // The sequence `stream` under `key`.
  Draws(uint64_t key, uint64_t stream) : key_(key), stream_(stream) {}

  // In [0, 1).
  double uniform() {
    const PhiloxBlock bits = philox(key_, stream_, next_++);
    return uniform_double(bits[0], bits[1]);
  }
  // In [0, size), size > 0.
  int64_t below(int64_t size) { return static_cast<int64_t>(uniform() * size); }

 private:
  uint64_t key_, stream_, next_ = 0;
};

}  // namespace skein::data
