// Steps that every rank takes or none: a failure of one rank becomes the same Error on all, so that
// no rank waits for ever in a later collective. A step itself must hold no collective.
#pragma once

#include <functional>
#include <string>

#include "skein/comm/group.h"

namespace skein::checkpoint {

// Collective. Runs `step` on every rank. When it throws on any, every rank throws one Error: the
// code of the first failing rank whose code is not usage, else usage, and what failed where.
void agree(Group& world, const std::function<void()>& step);

// Collective. Runs `step` on rank 0 and returns its answer on every rank; its failure is thrown on
// every rank.
std::string from_root(Group& world, const std::function<std::string()>& step);

// What `step` threw, or "" when it did not. For steps whose failure is only reported.
std::string failure_of(const std::function<void()>& step);

}  // namespace skein::checkpoint
