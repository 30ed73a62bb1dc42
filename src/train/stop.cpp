#include "skein/train/stop.h"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <system_error>

namespace skein {
namespace {

// Ranks may be threads of one process: the handlers go when the last request object does.
std::atomic<bool> signalled{false};
std::atomic<int> listeners{0};

// A second interrupt from the keyboard ends the process at once.
void on_signal(int number) {
  signalled = true;
  if (number == SIGINT) std::signal(SIGINT, SIG_DFL);
}

}  // namespace

StopRequest::StopRequest(std::string folder) : file_(folder.empty() ? "" : folder + "/stop") {
  if (listeners++ > 0) return;
  signalled = false;
  for (const int number : {SIGINT, SIGTERM, SIGUSR2}) std::signal(number, on_signal);
}

StopRequest::~StopRequest() {
  if (--listeners > 0) return;
  for (const int number : {SIGINT, SIGTERM, SIGUSR2}) std::signal(number, SIG_DFL);
}

bool StopRequest::agreed(Group& world) const {
  std::error_code ignored;
  const bool asked = world.rank() == 0 && !file_.empty() && std::filesystem::exists(file_, ignored);
  return world.any(asked || signalled);
}

void StopRequest::clear() const {
  std::error_code ignored;
  if (!file_.empty()) std::filesystem::remove(file_, ignored);
}

}  // namespace skein
