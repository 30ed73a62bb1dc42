// Structures of attention by name: what is timed of them, and pictures of who sees whom.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/formats/svg_cells.h"
#include "skein/kernels/pattern.h"

namespace skein::bench {

// causal: all before it; full: all; band: half of `reach` on each side; documents: all before it in
// documents of `reach` tokens; blocks: listed ones of an eighth of `reach`; prefix: the first
// `reach` tokens and all before it; marked: the band, and each of the tokens that are marked, the
// first and every `reach`-th.
const std::vector<std::string>& structure_names();
// A name beside those: not a structure of its own, but the one that the model has.
constexpr char kModelStructure[] = "model";

// Of so many samples of `tokens` tokens, on the host. A usage error, with the names that there are,
// for another one; for a reach below 1.
kernels::Pattern structure(const std::string& name, int64_t samples, int64_t tokens, int64_t reach);

// Queries below each other, keys beside each other; the darker the more often a query counts a key.
// Of many tokens several are a cell, which is as dark as they are on the average.
formats::CellPicture structure_picture(const std::string& name, int64_t tokens, int64_t reach);

// FOLDER/attention-NAME.svg of each; makes the folder. Returns their paths.
std::vector<std::string> write_structures(const std::vector<std::string>& names, int64_t tokens,
                                          int64_t reach, const std::string& folder);

}  // namespace skein::bench
