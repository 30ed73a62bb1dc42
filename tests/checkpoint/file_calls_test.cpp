// What the system answers at moments that no test could meet by chance: these calls of this program
// go through here.
#include <cstdio>
#include <functional>
#include <sys/syscall.h>
#include <unistd.h>

#include "scenario.h"
#include "skein/checkpoint/directory.h"

namespace skein {
namespace {

using namespace scenario;

std::function<void(const std::string& path)>& at_sync() {
  static std::function<void(const std::string& path)> action;
  return action;
}

// Once, before the first file is made durable whose path ends so.
class AtSync {
 public:
  AtSync(const std::string& end, const std::function<void()>& action) {
    at_sync() = [=](const std::string& path) {
      if (!path.ends_with(end)) return;
      at_sync() = {};
      action();
    };
  }
  ~AtSync() { at_sync() = {}; }
  AtSync(const AtSync&) = delete;
  AtSync& operator=(const AtSync&) = delete;
};

}  // namespace
}  // namespace skein

// In place of the C library's, for this whole program.
extern "C" int fsync(int fd) {
  if (const auto action = skein::at_sync()) {
    std::error_code error;
    action(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error).string());
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace skein {
namespace {

// The newer start clears what the older one is writing, which must not be told as a fault of
// storage.
TEST(Superseded, InTheMiddleOfASaveItEnds) {
  for (const char* file : {"/rank-00000.h5", "/manifest.json"}) {
    const TempDir directory;
    const auto alone = single_rank();
    const State state = filled_state(rows(), 1, 0, 1);
    CheckpointStore older(directory.str(), 5, *alone);
    older.save(10, state.pieces, "{}");
    const AtSync takeover(file, [&] { start_generation(directory.str(), 1); });
    expect_error(ExitCode::superseded, [&] { older.save(20, state.pieces, "{}"); },
                 {"generation 2", "generation 1", "commits no more"});
    EXPECT_EQ(find_checkpoint(directory.str(), *alone)->step, 10) << file;
  }
}

}  // namespace
}  // namespace skein
