// What the system answers at moments that no test could meet by chance: these calls of this program
// go through here.
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <functional>
#include <sys/syscall.h>
#include <unistd.h>

#include "skein/checkpoint/directory.h"

#include "scenario.h"

namespace skein::checkpoint {
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

// What renameat2 and link answer: an errno; 0 for what the system says.
struct Answers {
  int rename = 0, link = 0;
  bool linked = false;  // link has done its work all the same, and the answer was lost
};
Answers& answers() {
  static Answers now;
  return now;
}

}  // namespace
}  // namespace skein::checkpoint

// Instead of the C library's, for this whole program.
extern "C" int fsync(int fd) {
  if (const auto action = skein::checkpoint::at_sync()) {
    std::error_code error;
    action(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error).string());
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
extern "C" int renameat2(int from_at, const char* from, int to_at, const char* to,
                         unsigned flags) noexcept {
  if ((errno = skein::checkpoint::answers().rename) != 0) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, from_at, from, to_at, to, flags));
}
extern "C" int link(const char* from, const char* to) noexcept {
  const auto [_, error, linked] = skein::checkpoint::answers();
  const bool done =
      (error == 0 || linked) && ::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0) == 0;
  if (error != 0) errno = error;
  return done && error == 0 ? 0 : -1;
}

namespace skein::checkpoint {
namespace {

// The newer start clears what the older one is writing, which must not be told as a fault of
// storage.
TEST(Superseded, InTheMiddleOfASaveItEnds) {
  for (const char* file : {"/rank-00000.h5", "/manifest.json"}) {
    const test::Scratch directory;
    const auto alone = single_rank();
    const State state = filled_state(rows(), 1, 0, 1);
    CheckpointStore older(directory.path(), 5, *alone);
    older.save(10, state.pieces, "{}");
    const AtSync takeover(file, [&] { start_generation(directory.path(), 1); });
    expect_error(ExitCode::superseded, [&] { older.save(20, state.pieces, "{}"); },
                 {"generation 2", "generation 1", "commits no more"});
    EXPECT_EQ(find_checkpoint(directory.path(), *alone)->step, 10) << file;
  }
}

class FileSystems : public testing::Test {
 protected:
  ~FileSystems() override { answers() = {}; }

  test::Scratch directory_;
};

// A number is taken once, whatever a file system offers for that.
TEST_F(FileSystems, LetOneStartTakeANumber) {
  const Answers all[] = {{},
                         {EINVAL},
                         {EINVAL, EPERM},
                         {ENOSYS, EOPNOTSUPP},
                         {EINVAL, EEXIST, true},
                         {EINVAL, EIO, true}};
  int64_t number = 0;
  for (const Answers& one : all) {
    SCOPED_TRACE(fmt::format("renameat2: {}, link: {}", one.rename, one.link));
    answers() = one;
    ++number;
    EXPECT_TRUE(write_generation(directory_.path(), {.number = number, .run = "first"}));
    answers().linked = false;
    if (one.link == EIO) continue;
    EXPECT_FALSE(write_generation(directory_.path(), {.number = number, .run = "second"}));
    EXPECT_EQ(read_generation(directory_.path(), number)->run, "first");
    EXPECT_EQ(names_in(directory_.path()).size(), static_cast<size_t>(number)) << "leftovers";
  }
  answers() = {EINVAL, EIO};
  expect_error(ExitCode::failure,
               [&] { write_generation(directory_.path(), {.number = number + 1}); },
               {"cannot give", "Input/output error"});
  EXPECT_EQ(names_in(directory_.path()).size(), static_cast<size_t>(number));
}

}  // namespace
}  // namespace skein::checkpoint
