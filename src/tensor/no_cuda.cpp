// A build without CUDA: there are no such devices.
#include "skein/tensor/cuda.h"

namespace skein::cuda {
namespace {

[[noreturn]] void refuse() {
  fail_usage("this build of Skein has no GPU kernels; build them with `launch/build cuda`");
}

}  // namespace

bool built_in() { return false; }
int device_count() { return 0; }
Driver driver() { return {}; }
int capability(int) { refuse(); }
std::string name(int) { refuse(); }
std::string address(int) { refuse(); }
std::string identity(int) { refuse(); }
Memory memory(int) { refuse(); }
void* stream(int) { refuse(); }
void synchronize(int) { refuse(); }
void check(int, const char*) { refuse(); }
std::byte* allocate(int64_t, int) { refuse(); }
void release(std::byte*, int64_t, int) {}
void copy(std::byte*, Device, const std::byte*, Device, int64_t) { refuse(); }
void zero(std::byte*, int64_t, int) { refuse(); }
void poison_freed(bool) {}

Recording::Recording(int index) : index_(index), pool_(0) { refuse(); }
Recording::~Recording() = default;
void reserve(double, int) { refuse(); }
void Recording::run(const std::function<void()>&) { refuse(); }
void Recording::record(const std::function<void()>&) { refuse(); }
void Recording::queue() const { refuse(); }

}  // namespace skein::cuda
