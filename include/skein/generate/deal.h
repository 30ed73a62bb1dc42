// Who decodes which prompts, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skein::generate {

// The numbers of the prompts for each of `ranks`, a pure function, so that all ranks know it.
// Longer prompts come first, equally long ones in the order given: what is decoded together is of
// like length, and most memory is needed at the beginning. Equal prompts that follow each other
// stay together unless they are more than an equal share; each run of them goes to the rank that
// has the fewest prompts so far.
std::vector<std::vector<size_t>> deal_prompts(const std::vector<std::vector<int32_t>>& prompts,
                                              int ranks);

}  // namespace skein::generate
