#include "skein/core/host.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "skein/core/files/private_folder.h"

namespace skein {
namespace {

constexpr int64_t kMiB = 1 << 20;

// Files of a made system.
class HostLimitsTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = folder_.path() + "/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  HostLimits limits() const { return host_limits(folder_.path()); }

 private:
  PrivateFolder folder_{"skein-host"};
};

TEST_F(HostLimitsTest, WithoutCgroupsMemoryAlone) {
  write("proc/meminfo",
        "MemTotal:  2048 kB\nMemFree: 5 kB\nMemAvailable:   1024 kB\nSwapFree: 512 kB\n");
  EXPECT_EQ(limits().memory, 2 * kMiB);
  EXPECT_EQ(limits().available, kMiB + kMiB / 2) << "and swap";
  EXPECT_EQ(limits().memory_limit, 0);
  EXPECT_EQ(limits().cores, 0);
}

TEST_F(HostLimitsTest, OfVersion2TheSmallestAbove) {
  write("proc/meminfo", "MemTotal:  10240 kB\nMemAvailable:   8192 kB\n");
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/memory.max", std::to_string(4 * kMiB));
  write("sys/fs/cgroup/job/memory.current", std::to_string(3 * kMiB));
  write("sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file " + std::to_string(kMiB) + "\n");
  EXPECT_EQ(limits().cores, 1.5);
  EXPECT_EQ(limits().memory_limit, 4 * kMiB);
  EXPECT_EQ(limits().available, 2 * kMiB) << "pages of files may go";
}

TEST_F(HostLimitsTest, OfVersion1ByController) {
  write("proc/meminfo", "MemTotal:  10240 kB\nMemAvailable:   8192 kB\n");
  write("proc/self/cgroup", "4:memory:/of/the/host\n1:cpu,cpuacct:/here\n0::/\n");
  write("sys/fs/cgroup/cpu,cpuacct/here/cpu.cfs_quota_us", "50000");
  write("sys/fs/cgroup/cpu,cpuacct/here/cpu.cfs_period_us", "100000");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(kMiB));
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(2 * kMiB));
  EXPECT_EQ(limits().cores, 0.5);
  EXPECT_EQ(limits().memory_limit, kMiB);
  EXPECT_EQ(limits().available, 0) << "more is in use than there may be";
}

TEST_F(HostLimitsTest, NoLimitIsWrittenAsAHugeNumber) {
  write("proc/meminfo", "MemTotal:  10240 kB\nMemAvailable:   8192 kB\n");
  write("proc/self/cgroup", "4:memory:/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096");
  EXPECT_EQ(limits().memory_limit, 0);
  EXPECT_EQ(limits().available, 8 * kMiB);
}

TEST(HostLimits, AreToldHere) {
  const HostLimits limits = host_limits();
  EXPECT_GT(limits.memory, 0);
  EXPECT_GT(limits.available, 0);
}

}  // namespace
}  // namespace skein
