// Who belongs to a part of a split group.
#pragma once

#include <algorithm>
#include <vector>

#include "skein/core/numbers.h"

namespace skein {

// Ranks whose wish has this color, by key, then by rank. wishes: color and key of each rank.
template <class Wish>
std::vector<int> members_of(const std::vector<Wish>& wishes, int color) {
  std::vector<int> members;
  for (size_t r = 0; r < wishes.size(); ++r)
    if (wishes[r].color == color) members.push_back(narrow<int>(r));
  std::stable_sort(members.begin(), members.end(),
                   [&](int left, int right) { return wishes[left].key < wishes[right].key; });
  return members;
}

}  // namespace skein
