// Where the ranks of a trainer learn whether their cell has failed on one of them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "skein/comm/group.h"

namespace skein::scaling::sweep {

// They meet in a group of their own, so that nothing here is taken for an exchange of the training,
// in which the others may still wait.
class FailureMeeting {
 public:
  // Collective.
  explicit FailureMeeting(Group& trainer);

  // Collective. What failed where, or "" when nothing did; the bare reason when all ranks give the
  // same. own: what failed on this rank, or "". The ranks that did not fail may wait in a
  // collective for ever: one that failed waits `patience` for them; then alone() is called, from
  // another thread, and the job is ended with ExitCode::failure and what alone() returned, which is
  // thrown where ending a job leaves this rank alive.
  std::string outcome(const std::string& own, std::chrono::milliseconds patience,
                      const std::function<std::string()>& alone) const;

 private:
  std::string gathered(const std::string& own) const;

  std::unique_ptr<Group> group_;
};

}  // namespace skein::scaling::sweep
