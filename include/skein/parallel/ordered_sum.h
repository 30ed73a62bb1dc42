// Sums over ranks whose order is that of comm/group.h on devices, too, whatever their library would
// choose by topology and size.
#pragma once

#include "skein/comm/group.h"

namespace skein {

// out [n] = tree-ordered sum over ranks of block rank() of in [size()*n], where the library of a
// device would add in its own order. f32. Collective; queued on devices.
void ordered_reduce_scatter(Group& group, const Tensor& in, const Tensor& out);

}  // namespace skein
