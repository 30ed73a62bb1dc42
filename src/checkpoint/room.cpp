#include "room.h"

#include "skein/checkpoint/files.h"
#include "skein/core/error.h"

namespace skein {
namespace {

// Room for the manifest and the file system's own bookkeeping.
constexpr int64_t kSpareBytes = int64_t{1} << 20;

}  // namespace

void check_free_space(const std::string& directory, int64_t bytes) {
  const int64_t room = free_space(directory);
  if (room < bytes + kSpareBytes)
    fail(
        "a checkpoint of {} does not fit into {}, which has {} free, of which {} stay free for the "
        "manifest and the file system; "
        "earlier checkpoints are untouched. Free some space or keep fewer checkpoints",
        readable_size(bytes), directory, readable_size(room), readable_size(kSpareBytes));
}

}  // namespace skein
