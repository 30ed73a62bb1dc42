// A run can be asked to commit a checkpoint and stop: signal TERM, INT, HUP, USR1 or USR2, or a
// file named `stop` in its folder.
#pragma once

#include <string>

#include "skein/comm/group.h"
#include "skein/core/stop_signals.h"

namespace skein::train {

// While it lives, the signals are requests instead of ends of the process.
class StopRequest {
 public:
  // folder: where the stop file may appear; "": none.
  explicit StopRequest(std::string folder);

  // Whether this rank has been asked: by a signal, or, on rank 0, by the file. Once asked, always
  // asked.
  bool asked(const Group& world) const;
  // Collective: true on every rank once any has been asked. From then on the signals have no
  // effect, so that whatever comes while the run commits and ends, it ends as it was agreed.
  bool agreed(Group& world) const;
  // To be called where all ranks have agreed in another way (comm/meeting.h): the signals have no
  // effect from then on.
  void taken() const { ignore_stop_signals(); }
  // Removes the stop file, so that the next start runs.
  void clear() const;

 private:
  StopSignals signals_;
  std::string file_;
};

}  // namespace skein::train
