#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "skein/core/error.h"
#include "skein/data/samples/loader.h"

namespace skein::data {
namespace {

struct LoadedBatch {
  int64_t by = -1;
  Batch batch;
  std::exception_ptr error;
};

}  // namespace

struct Prefetcher::Impl {
  Impl(const SampleSource& from, const SampleRange& samples, int on)
      : source(from), range(samples), threads(on) {
    thread = std::jthread([this](std::stop_token stop) { run(stop); });
  }

  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (asked.wait(lock, stop, [this] { return wanted >= 0; }) && !stop.stop_requested()) {
      loading = std::exchange(wanted, -1);
      lock.unlock();
      LoadedBatch loaded = load(loading);
      lock.lock();
      loading = -1;
      ready = std::move(loaded);
      answered.notify_all();
    }
  }

  LoadedBatch load(int64_t by) const {
    LoadedBatch loaded;
    loaded.by = by;
    try {
      loaded.batch = source.batch(range.shifted(by), threads);
    } catch (...) {
      loaded.error = std::current_exception();
    }
    return loaded;
  }

  const SampleSource& source;
  const SampleRange range;
  const int threads;
  std::mutex mutex;
  std::condition_variable_any asked;
  std::condition_variable answered;
  int64_t wanted = -1;   // not begun yet
  int64_t loading = -1;  // begun
  LoadedBatch ready;
  std::jthread thread;  // last: joined before what it uses goes away
};

Prefetcher::Prefetcher(const SampleSource& source, const SampleRange& range, int threads)
    : impl_(std::make_unique<Impl>(source, range, threads)) {}

Prefetcher::~Prefetcher() = default;

Batch Prefetcher::take(int64_t by, int64_t next) {
  SKEIN_CHECK(by >= 0);
  Impl& work = *impl_;
  std::unique_lock lock(work.mutex);
  const auto ask = [&](int64_t wanted) {
    work.wanted = wanted;
    work.asked.notify_all();
  };
  if (work.ready.by != by && work.loading != by && work.wanted != by) ask(by);
  work.answered.wait(lock, [&] { return work.ready.by == by; });
  const LoadedBatch taken = std::exchange(work.ready, LoadedBatch{});
  if (taken.error) std::rethrow_exception(taken.error);
  if (next >= 0) ask(next);
  return taken.batch;
}

}  // namespace skein::data
