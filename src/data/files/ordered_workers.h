// Threads that work on things handed to them, and hand the results back in the order of the things.
// No more than a few a thread are under way at any time.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace skein::data {

template <class In, class Out>
class OrderedWorkers {
 public:
  // work(worker, in) with worker in [0, threads) runs on that worker's thread.
  OrderedWorkers(int threads, std::function<Out(int, const In&)> work)
      : work_(std::move(work)), limit_(2 * threads + 1) {
    for (int worker = 0; worker < threads; ++worker)
      threads_.emplace_back([this, worker](const std::stop_token& stop) { run(stop, worker); });
  }

  // Feeds read() until it returns false, and gives every result to write(), both on the calling
  // thread. An exception of any of the three ends it.
  template <class Read, class Write>
  void drive(Read&& read, Write&& write) {
    for (In in; read(in); in = In()) {
      if (order_.size() >= limit_) write(take());
      submit(std::move(in));
    }
    while (!order_.empty()) write(take());
  }

 private:
  struct Job {
    In in;
    std::optional<Out> out;
    std::exception_ptr error;
    bool done = false;
  };

  void submit(In in) {
    order_.push_back(std::make_shared<Job>());
    order_.back()->in = std::move(in);
    const std::lock_guard lock(mutex_);
    waiting_.push_back(order_.back());
    wake_.notify_one();
  }

  Out take() {
    const std::shared_ptr<Job> job = std::move(order_.front());
    order_.pop_front();
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return job->done; });
    if (job->error) std::rethrow_exception(job->error);
    return std::move(*job->out);
  }

  std::shared_ptr<Job> next_job(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, stop, [this] { return !waiting_.empty(); });
    if (stop.stop_requested()) return nullptr;
    std::shared_ptr<Job> job = std::move(waiting_.front());
    waiting_.pop_front();
    return job;
  }

  void run(const std::stop_token& stop, int worker) {
    while (const std::shared_ptr<Job> job = next_job(stop)) {
      try {
        job->out.emplace(work_(worker, job->in));
      } catch (...) {
        job->error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      job->done = true;
      finished_.notify_one();
    }
  }

  std::function<Out(int, const In&)> work_;
  size_t limit_;
  std::deque<std::shared_ptr<Job>> order_;
  std::deque<std::shared_ptr<Job>> waiting_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable finished_;
  // Last, so that the threads have ended before what they use goes.
  std::vector<std::jthread> threads_;
};

}  // namespace skein::data
