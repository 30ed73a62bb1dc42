// What an exchange between ranks gives its caller.
#pragma once

#include <functional>
#include <utility>

namespace skein {

// A transfer or a collective under way. The memory it was started with must outlive wait().
class Work {
 public:
  Work() = default;  // already complete
  explicit Work(std::function<void()> wait) : wait_(std::move(wait)) {}
  // Returns when it is complete; between devices it only makes later work of the device wait for
  // it. May be called again. Throws Error(failure) when the peer is gone.
  void wait() {
    if (auto todo = std::exchange(wait_, nullptr)) todo();
  }

 private:
  std::function<void()> wait_;
};

}  // namespace skein
