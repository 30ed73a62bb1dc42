// Which calls wait for work that is under way on the GPU: a kernel spins until the host lets it go,
// and each call is made beside it. An exchange with another rank is such a kernel, so a call that
// waits here may wait there for a rank that waits for this one. Prints a line of JSON a call:
// {"call": ..., "milliseconds": ..., "waits": ...}. Exit code 1 where a call fails.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr auto kDeadline = std::chrono::milliseconds(1500);

void check(int status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "%s failed with %d: %s\n", what, status,
               cudaGetErrorString(static_cast<cudaError_t>(status)));
  std::exit(1);
}
#define CHECK(call) check(static_cast<int>(call), #call)

__global__ void spin(volatile int* go) {
  while (*go == 0) {
  }
}
// Each is loaded at its first launch, as CUDA does unless told otherwise.
template <int number>
__global__ void small(float* x) {
  x[threadIdx.x] += number;
}
template <int number>
__global__ void large(float* x) {
  extern __shared__ float shared[];
  shared[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = shared[number];
}

// A kernel that runs until stop().
class Spinning {
 public:
  Spinning(cudaStream_t stream, volatile int* go, int* go_there) : stream_(stream), go_(go) {
    *go_ = 0;
    spin<<<1, 1, 0, stream>>>(go_there);
    CHECK(cudaGetLastError());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  void stop() {
    *go_ = 1;
    CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  cudaStream_t stream_;
  volatile int* go_;
};

struct Call {
  std::string name;
  std::function<void()> run;
};

// Milliseconds of the call on a thread of its own, and whether it came back before the kernel was
// let go.
void measure(const Call& call, Spinning spinning) {
  std::mutex mutex;
  std::condition_variable over;
  bool done = false;
  const auto begin = std::chrono::steady_clock::now();
  std::thread thread([&] {
    call.run();
    const std::lock_guard lock(mutex);
    done = true;
    over.notify_one();
  });
  bool in_time = false;
  {
    std::unique_lock lock(mutex);
    in_time = over.wait_for(lock, kDeadline, [&] { return done; });
  }
  const double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  spinning.stop();
  thread.join();
  std::printf("{\"call\": \"%s\", \"milliseconds\": %.3f, \"waits\": %s}\n", call.name.c_str(),
              milliseconds, in_time ? "false" : "true");
  std::fflush(stdout);
}

cublasLtMatrixLayout_t square(int side) {
  cublasLtMatrixLayout_t made = nullptr;
  CHECK(cublasLtMatrixLayoutCreate(&made, CUDA_R_32F, side, side, side));
  return made;
}

void multiply(cublasLtHandle_t handle, int side, float* a, float* b, float* c,
              cudaStream_t stream) {
  cublasLtMatmulDesc_t description = nullptr;
  CHECK(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const auto of = square(side);
  const float one = 1, none = 0;
  CHECK(cublasLtMatmul(handle, description, &one, a, of, b, of, &none, c, of, c, of, nullptr,
                       nullptr, 0, stream));
  CHECK(cublasLtMatrixLayoutDestroy(of));
  CHECK(cublasLtMatmulDescDestroy(description));
}

struct Memory {
  static constexpr size_t kBytes = size_t{64} << 20;
  float *a = nullptr, *b = nullptr, *c = nullptr, *taken = nullptr;
  void *page = nullptr, *pinned = nullptr, *taken_pinned = nullptr;
  Memory() : page(std::malloc(kBytes)) {
    for (float** one : {&a, &b, &c}) CHECK(cudaMalloc(one, kBytes));
    CHECK(cudaMallocHost(&pinned, kBytes));
    CHECK(cudaMemset(a, 0, kBytes));
    CHECK(cudaMemset(b, 0, kBytes));
  }
};

std::vector<Call> calls(Memory& m, cudaStream_t stream, cudaEvent_t event) {
  static cublasLtHandle_t handle = nullptr;
  static cudaStream_t made = nullptr;
  static cudaEvent_t made_event = nullptr;
  static cudaGraph_t graph = nullptr;
  static cudaGraphExec_t executable = nullptr;
  constexpr size_t kBytes = Memory::kBytes;
  const auto launched = [=, &m](auto kernel, int bytes) {
    kernel<<<1, 32, bytes, stream>>>(m.a);
    CHECK(cudaGetLastError());
  };
  return {
      {"cudaDeviceSynchronize", [] { CHECK(cudaDeviceSynchronize()); }},
      {"cudaEventQuery", [=] { (void)cudaEventQuery(event); }},
      {"cudaStreamQuery", [=] { (void)cudaStreamQuery(stream); }},
      {"cudaMemGetInfo",
       [] {
         size_t free, all;
         CHECK(cudaMemGetInfo(&free, &all));
       }},
      {"cudaMalloc of 4 KiB", [&m] { CHECK(cudaMalloc(&m.taken, 4096)); }},
      {"cudaFree of 4 KiB", [&m] { CHECK(cudaFree(m.taken)); }},
      {"cudaMalloc of 256 MiB", [&m] { CHECK(cudaMalloc(&m.taken, 4 * kBytes)); }},
      {"cudaFree of 256 MiB", [&m] { CHECK(cudaFree(m.taken)); }},
      {"cudaMallocAsync", [&m, stream] { CHECK(cudaMallocAsync(&m.taken, kBytes, stream)); }},
      {"cudaFreeAsync", [&m, stream] { CHECK(cudaFreeAsync(m.taken, stream)); }},
      {"cudaMallocHost", [&m] { CHECK(cudaMallocHost(&m.taken_pinned, kBytes)); }},
      {"cudaFreeHost", [&m] { CHECK(cudaFreeHost(m.taken_pinned)); }},
      {"cudaStreamCreateWithFlags",
       [] { CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking)); }},
      {"cudaStreamDestroy", [] { CHECK(cudaStreamDestroy(made)); }},
      {"cudaEventCreateWithFlags",
       [] { CHECK(cudaEventCreateWithFlags(&made_event, cudaEventDisableTiming)); }},
      {"cudaEventDestroy", [] { CHECK(cudaEventDestroy(made_event)); }},
      {"first launch of a kernel", [=] { launched(small<1>, 0); }},
      {"second launch of a kernel", [=] { launched(small<1>, 0); }},
      {"cudaFuncSetAttribute before the first launch",
       [] {
         CHECK(
             cudaFuncSetAttribute(large<2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
       }},
      {"first launch with 64 KiB of shared memory", [=] { launched(large<2>, 64 << 10); }},
      {"cudaMemsetAsync", [&m, stream] { CHECK(cudaMemsetAsync(m.c, 0, kBytes, stream)); }},
      {"cudaMemcpyAsync from pageable memory, 4 KiB",
       [&m, stream] { CHECK(cudaMemcpyAsync(m.a, m.page, 4096, cudaMemcpyHostToDevice, stream)); }},
      {"cudaMemcpyAsync from pageable memory, 64 MiB",
       [&m, stream] {
         CHECK(cudaMemcpyAsync(m.a, m.page, kBytes, cudaMemcpyHostToDevice, stream));
       }},
      {"cudaMemcpyAsync from pinned memory, 64 MiB",
       [&m, stream] {
         CHECK(cudaMemcpyAsync(m.a, m.pinned, kBytes, cudaMemcpyHostToDevice, stream));
       }},
      {"cudaMemcpyAsync within the device",
       [&m, stream] {
         CHECK(cudaMemcpyAsync(m.c, m.a, kBytes, cudaMemcpyDeviceToDevice, stream));
       }},
      {"cudaMemcpyAsync to pageable memory, 4 KiB",
       [&m, stream] { CHECK(cudaMemcpyAsync(m.page, m.a, 4096, cudaMemcpyDeviceToHost, stream)); }},
      {"cudaStreamSynchronize of another stream", [=] { CHECK(cudaStreamSynchronize(stream)); }},
      {"cublasLtCreate", [] { CHECK(cublasLtCreate(&handle)); }},
      {"first cublasLtMatmul", [&m, stream] { multiply(handle, 512, m.a, m.b, m.c, stream); }},
      {"second cublasLtMatmul", [&m, stream] { multiply(handle, 512, m.a, m.b, m.c, stream); }},
      {"cublasLtMatmul of another shape",
       [&m, stream] { multiply(handle, 4096, m.a, m.b, m.c, stream); }},
      {"graph capture",
       [=] {
         CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
         launched(small<1>, 0);
         CHECK(cudaStreamEndCapture(stream, &graph));
       }},
      {"cudaGraphInstantiate", [] { CHECK(cudaGraphInstantiate(&executable, graph, 0)); }},
      {"first cudaGraphLaunch", [=] { CHECK(cudaGraphLaunch(executable, stream)); }},
      {"second cudaGraphLaunch", [=] { CHECK(cudaGraphLaunch(executable, stream)); }},
  };
}

}  // namespace

int main() {
  int *go = nullptr, *go_there = nullptr;
  CHECK(cudaHostAlloc(&go, sizeof(int), cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&go_there, go, 0));
  cudaStream_t spinning = nullptr, other = nullptr;
  CHECK(cudaStreamCreateWithFlags(&spinning, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  Spinning(spinning, go, go_there).stop();  // loaded
  Memory memory;
  for (const Call& call : calls(memory, other, event)) {
    const Spinning busy(spinning, go, go_there);
    CHECK(cudaEventRecord(event, spinning));
    measure(call, busy);
    CHECK(cudaDeviceSynchronize());
  }
}
