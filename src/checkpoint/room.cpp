#include "room.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/strings.h"

namespace skein::checkpoint {
namespace {

// Room for the manifest, which grows with the number of tensors, and the file system's own
// bookkeeping.
int64_t spare_for(int64_t bytes) {
  constexpr int64_t kLeast = int64_t{1} << 16, kMost = int64_t{1} << 20;
  return std::clamp(bytes / 4, kLeast, kMost);
}

}  // namespace

void check_free_space(const std::string& directory, int64_t bytes) {
  const int64_t room = free_space(directory), spare = spare_for(bytes);
  if (room < bytes + spare)
    fail(
        "a checkpoint of {} does not fit into {}, which has {} free, of which {} stay free for the "
        "manifest and the file system; earlier checkpoints are untouched. Free some space or keep "
        "fewer checkpoints",
        readable_size(bytes), directory, readable_size(room), readable_size(spare));
}

}  // namespace skein::checkpoint
