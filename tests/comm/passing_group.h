// A group that passes everything on, for tests that look at what goes by.
#pragma once

#include "skein/comm/group.h"

namespace skein::test {

class PassingGroup : public Group {
 public:
  explicit PassingGroup(Group& group) : group_(group) {}
  explicit PassingGroup(std::unique_ptr<Group> group) : own_(std::move(group)), group_(*own_) {}

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  Work send_bytes(const std::byte* data, int64_t bytes, int peer, int tag) override {
    return next().send_bytes(data, bytes, peer, tag);
  }
  Work recv_bytes(std::byte* data, int64_t bytes, int peer, int tag) override {
    return next().recv_bytes(data, bytes, peer, tag);
  }
  Work all_gather_bytes(const std::byte* in, std::byte* out, int64_t bytes) override {
    return next().all_gather_bytes(in, out, bytes);
  }
  Work broadcast_bytes(std::byte* data, int64_t bytes, int root) override {
    return next().broadcast_bytes(data, bytes, root);
  }
  void meet() override { group_.meet(); }
  std::unique_ptr<Group> split(int color, int key) override { return group_.split(color, key); }
  void abort(int exit_code) override { group_.abort(exit_code); }

 protected:
  // Called for each move of bytes.
  virtual Group& next() { return group_; }

 private:
  std::unique_ptr<Group> own_;
  Group& group_;
};

}  // namespace skein::test
