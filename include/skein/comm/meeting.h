// Lets ranks that work side by side for long agree, now and then, whether they go on.
#pragma once

#include <cstdint>
#include <functional>

#include "skein/comm/group.h"

namespace skein {

// Thrown on every rank at the same meeting. Not an error: the work is given up because somebody
// asked.
struct Interruption {};

// Work that is to be interruptible calls pass() at each of its rounds and finish() after the last
// one. Ranks may have different numbers of rounds. They meet about once a second, however short a
// round is, by one all-reduce; when they meet changes nothing but when they are interrupted.
class Meeting {
 public:
  // world outlives it. asked: whether this rank wants all to leave; called at meetings only.
  Meeting(Group& world, std::function<bool()> asked);

  // Begins a round. Some of the calls are collective: so no rank may wait for a later round of
  // another one, or hold back what another one needs to get to its own next round. Throws
  // Interruption on all ranks once any was asked.
  void pass();
  // Collective: waits until all ranks are here; throws Interruption like pass(). Afterwards the
  // next work may begin.
  void finish();

 private:
  // Whether any rank still works.
  bool meet(bool working);
  void begin();

  Group& world_;
  std::function<bool()> asked_;
  // Equal on all ranks: passes from one meeting to the next, and meetings of this work so far.
  int64_t interval_ = 1, meetings_ = 0;
  int64_t left_ = 1;  // passes to the next meeting
  double last_ = 0;   // steady_seconds()
};

}  // namespace skein
