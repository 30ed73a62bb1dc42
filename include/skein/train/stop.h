// A run can be asked to commit a checkpoint and stop: signal INT, TERM or USR2, or a file named `stop` in its folder.
#pragma once

#include <string>

#include "skein/comm/group.h"

namespace skein {

// While it lives, INT (the first one), TERM and USR2 are requests instead of ends of the process.
class StopRequest {
 public:
  // folder: where the stop file may appear; "": none.
  explicit StopRequest(std::string folder);
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  // Collective: true on every rank once any has been asked.
  bool agreed(Group& world) const;
  // Removes the stop file, so that the next start runs.
  void clear() const;

 private:
  std::string file_;
};

}  // namespace skein
