#include "skein/train/stop.h"

#include <filesystem>
#include <system_error>

namespace skein::train {

StopRequest::StopRequest(std::string folder) : file_(folder.empty() ? "" : folder + "/stop") {}

bool StopRequest::asked(const Group& world) const {
  if (stop_signal() != 0) return true;
  std::error_code ignored;
  return world.rank() == 0 && !file_.empty() && std::filesystem::exists(file_, ignored);
}

bool StopRequest::agreed(Group& world) const {
  const bool all = world.any(asked(world));
  if (all) taken();
  return all;
}

void StopRequest::clear() const {
  std::error_code ignored;
  if (!file_.empty()) std::filesystem::remove(file_, ignored);
}

}  // namespace skein::train
