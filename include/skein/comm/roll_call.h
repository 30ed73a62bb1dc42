// Where each rank stands, asked by connections of their own beside the transport, which may be what
// hangs. Rank 0 asks; the others' watchdogs answer for them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "skein/comm/standing.h"

namespace skein {

class Group;

class RollCall {
 public:
  // How long rank 0 waits for answers, and the others for rank 0, in seconds: it answers, leaves
  // records and speaks before it dismisses them.
  static constexpr double kAnswers = 5, kLeader = 20;

  // Collective. own: this rank, with its groups. Ranks that cannot reach rank 0 are told of in the
  // log; nobody hears from them.
  static std::unique_ptr<RollCall> begin(Group& world, const Standing& own);
  virtual ~RollCall() = default;

  // All of this is for one thread, and waits no longer than said above.

  enum class Heard {
    nothing,
    late,  // rank 0: of another rank
    over   // another rank has ended the job, and said why: rank 0, or where that stands still any
  };
  // Hears the other ranks, to be called now and then; answers rank 0 with `own()`.
  virtual Heard listen(const std::function<Standing()>& own) = 0;
  // This rank is late, or rank 0 has heard of one. Rank 0 asks all and returns the verdict. Another
  // rank tells rank 0 and returns "" once that has ended the job; where rank 0 does not answer it
  // returns what it can say itself.
  virtual std::string call(const std::function<Standing()>& own) = 0;
  // After that, once this rank has said why: tells the others, who may end it before it could.
  virtual void dismiss() = 0;
  // After that, at rank 0: the records of all ranks, what is known of those that did not answer.
  virtual std::string records() const { return ""; }
};

}  // namespace skein
