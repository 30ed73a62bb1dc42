#include "skein/nn/pass.h"

#include "skein/core/philox.h"

namespace skein {

uint64_t Pass::dropout_key(int block, int site) const {
  const PhiloxBlock bits =
      philox(seed, PhiloxBlock{static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32),
                               static_cast<uint32_t>(block), static_cast<uint32_t>(site)});
  return uint64_t{bits[0]} << 32 | bits[1];
}

Pass Pass::divided(bool model) const {
  Pass made = *this;
  made.sequence_parallel = sequence_parallel && model;
  return made;
}

}  // namespace skein
