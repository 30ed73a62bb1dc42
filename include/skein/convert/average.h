// The mean of several checkpoints of one model, which often does better than any of them: Vaswani
// and others ("Attention is all you need", 2017) score the mean of a run's last ones.
#pragma once

#include <string>
#include <vector>

#include "skein/convert/import.h"

namespace skein::convert {

// Writes a checkpoint of no steps, of weights alone, into the folder `destination`, which must hold
// none. Each element is the sum of the sources', in f64 and in their order, divided by their
// number; a tensor has the sources' type, or f32 where these differ. What a checkpoint says beside
// its tensors is that of the last source. Memory: a shard of half a GiB, twice. Returns the
// checkpoint's path.
//
// sources: checkpoints, or folders as train::find_weights takes them. Usage errors, with both
// values, for less than two, for one that is named twice, and for models, tensors, tokenizers or
// tasks that are not the same.
std::string average(const std::vector<std::string>& sources, const std::string& destination,
                    const ConvertProgress& progress = {});

}  // namespace skein::convert
