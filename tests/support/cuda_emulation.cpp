#include "cuda_emulation.h"

#include <memory>
#include <mutex>
#include <sys/mman.h>
#include <vector>

#include "emulated_device.h"
#include "emulated_streams.h"

// Saves this stack's address in *from and goes on at `to`. ucontext would ask the kernel for its
// signals at each switch.
extern "C" void skein_switch_stack(void** from, void* to);
asm(R"(
.text
.type skein_switch_stack, @function
skein_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size skein_switch_stack, .-skein_switch_stack
)");

namespace skein::emulation {

Index thread_index{}, block_index{};
dim3 block_size, grid_size;

namespace {

constexpr size_t kStack = 64 << 10;
constexpr int kLanes = 32;

enum class State { ready, at_block, at_warp, done };

struct Fiber {
  std::unique_ptr<char[]> stack{new char[kStack]};
  void* top = nullptr;
  State state = State::done;
  int shuffles = 0;
};

struct Block {
  std::vector<Fiber> fibers;
  void* scheduler = nullptr;
  size_t current = 0;
  const std::function<void()>* body = nullptr;
  std::vector<char> slots[2];  // kLaneBytes a thread
  std::vector<char> shared;
};

Block block;
std::recursive_mutex running;
int accesses = 0;
bool opened = false;

void protect(int rights) {
  if (arena.used && !opened && mprotect(arena.data, arena.used, rights) != 0) std::abort();
}

}  // namespace

Arena arena;
thread_local Recorded* recording = nullptr;

Access::Access() {
  running.lock();
  if (accesses++ == 0) protect(PROT_READ | PROT_WRITE);
}

Access::~Access() {
  if (--accesses == 0) protect(PROT_NONE);
  running.unlock();
}

Opened::Opened() {
  const Access access;
  opened = true;
}

Opened::~Opened() {
  const std::lock_guard lock(running);
  opened = false;
  protect(PROT_NONE);
}

void now_or_recorded(int device, std::function<void()> work) {
  if (recording)
    recording->push_back(std::move(work));
  else
    computation(device).add_kernel(std::move(work));
}

namespace {

void enter() {
  (*block.body)();
  Fiber& fiber = block.fibers[block.current];
  fiber.state = State::done;
  skein_switch_stack(&fiber.top, block.scheduler);
}

void pause(State state) {
  Fiber& fiber = block.fibers[block.current];
  fiber.state = state;
  skein_switch_stack(&fiber.top, block.scheduler);
}

// A stack from which the first switch "returns" into enter, aligned as after a call.
void start(size_t thread) {
  Fiber& fiber = block.fibers[thread];
  auto* end = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(fiber.stack.get() + kStack) &
                                       ~uintptr_t{15});
  void** top = end - 8;
  std::fill(top, end, nullptr);
  top[6] = reinterpret_cast<void*>(&enter);
  fiber.top = top;
  fiber.state = State::ready;
  fiber.shuffles = 0;
}

bool run_ready(size_t threads) {
  bool ran = false;
  for (size_t t = 0; t < threads; ++t) {
    if (block.fibers[t].state != State::ready) continue;
    block.current = t;
    thread_index = {static_cast<unsigned>(t), 0, 0};
    skein_switch_stack(&block.scheduler, block.fibers[t].top);
    ran = true;
  }
  return ran;
}

// Lets fibers [begin, end) go on if all that live wait at the same thing.
bool release(size_t begin, size_t end, State waiting) {
  bool any = false;
  for (size_t t = begin; t < end; ++t) {
    if (block.fibers[t].state == State::done) continue;
    if (block.fibers[t].state != waiting) return false;
    any = true;
  }
  for (size_t t = begin; any && t < end; ++t)
    if (block.fibers[t].state == waiting) block.fibers[t].state = State::ready;
  return any;
}

void run_block(const char* name, size_t threads) {
  for (size_t t = 0; t < threads; ++t) start(t);
  while (true) {
    while (run_ready(threads)) {
    }
    bool released = false;
    for (size_t t = 0; t < threads; t += kLanes)
      released |= release(t, std::min(threads, t + kLanes), State::at_warp);
    if (released || release(0, threads, State::at_block)) continue;
    for (size_t t = 0; t < threads; ++t) {
      if (block.fibers[t].state == State::done) continue;
      std::fprintf(stderr, "kernel %s: thread %zu waits for others that never come\n", name, t);
      std::abort();
    }
    return;
  }
}

}  // namespace

namespace {

void run_now(const char* name, dim3 grid, int threads, size_t shared,
             const std::function<void()>& body) {
  // No GPU takes more in its second and third dim.
  constexpr unsigned kMost = 65535;
  if (grid.y > kMost || grid.z > kMost) {
    std::fprintf(stderr, "kernel %s: a grid of %u x %u x %u blocks\n", name, grid.x, grid.y,
                 grid.z);
    std::abort();
  }
  const Access access;
  const auto count = static_cast<size_t>(threads);
  while (block.fibers.size() < count) block.fibers.emplace_back();
  for (auto& slots : block.slots) slots.assign(count * kLaneBytes, 0);
  block.shared.assign(shared, static_cast<char>(0xff));
  block.body = &body;
  grid_size = grid;
  block_size = dim3(static_cast<unsigned>(threads));
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        block_index = {x, y, z};
        run_block(name, count);
      }
}

}  // namespace

void run(int device, const char* name, dim3 grid, int threads, size_t shared,
         const std::function<void()>& body) {
  load_kernel(device, name);
  now_or_recorded(device, [=] { run_now(name, grid, threads, shared, body); });
}

void wait_for_block() { pause(State::at_block); }

const char* exchange_all(const void* own, size_t bytes) {
  Fiber& fiber = block.fibers[block.current];
  auto& slots = block.slots[fiber.shuffles++ % 2];
  if (bytes > kLaneBytes) std::abort();
  std::memcpy(slots.data() + block.current * kLaneBytes, own, bytes);
  pause(State::at_warp);
  return slots.data() + block.current / kLanes * kLanes * kLaneBytes;
}

uint64_t exchange(uint64_t own, int lane) {
  uint64_t theirs;
  std::memcpy(&theirs, exchange_all(&own, sizeof(own)) + static_cast<size_t>(lane) * kLaneBytes,
              sizeof(theirs));
  return theirs;
}

char* shared_memory() { return block.shared.data(); }

}  // namespace skein::emulation
