#include "skein/comm/tcp/tcp.h"

#include <algorithm>
#include <numeric>
#include <sys/resource.h>

#include "skein/core/numbers.h"

#include "comm/halving.h"
#include "comm/members.h"
#include "mesh.h"

namespace skein::tcp {
namespace {

// Beyond what int tags reach: collectives are called in one order by all, so one tag is enough for
// them.
constexpr int64_t kCollective = int64_t{1} << 40;

// A message that may be left without a wait, as by an exception: then its buffer is not used any
// more.
template <class Message>
class MessageHold {
 public:
  MessageHold(std::shared_ptr<TcpMesh> mesh, std::shared_ptr<Message> message)
      : mesh_(std::move(mesh)), message_(std::move(message)) {}
  ~MessageHold() { mesh_->let_go(*message_); }
  MessageHold(const MessageHold&) = delete;
  MessageHold& operator=(const MessageHold&) = delete;
  void wait() const { mesh_->wait(*message_); }

 private:
  std::shared_ptr<TcpMesh> mesh_;
  std::shared_ptr<Message> message_;
};

template <class Message>
Work work_of(const std::shared_ptr<TcpMesh>& mesh, std::shared_ptr<Message> message) {
  return Work(
      [held = std::make_shared<MessageHold<Message>>(mesh, std::move(message))] { held->wait(); });
}

// Every rank is a file to each other, as are strangers while ranks meet. No more than 65,536, for
// some programs that a run starts close every number below their limit.
void allow_more_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t most = std::min<rlim_t>(limit.rlim_max, 1 << 16);
  if (limit.rlim_cur >= most) return;
  limit.rlim_cur = most;
  setrlimit(RLIMIT_NOFILE, &limit);
}

class TcpGroup : public Group {
 public:
  TcpGroup(std::shared_ptr<TcpMesh> mesh, uint64_t number, std::vector<int> world_ranks, int rank)
      : mesh_(std::move(mesh)),
        number_(number),
        world_ranks_(std::move(world_ranks)),
        rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return narrow<int>(world_ranks_.size()); }

  Work send_bytes(const std::byte* data, int64_t bytes, int peer, int tag) override {
    return send(data, bytes, peer, tag);
  }
  Work recv_bytes(std::byte* data, int64_t bytes, int peer, int tag) override {
    return receive(data, bytes, peer, tag);
  }

  Work all_gather_bytes(const std::byte* in, std::byte* out, int64_t bytes) override {
    gather_by_doubling(*this, in, out, bytes);
    return {};
  }

  // Down a tree, counted from the root: a rank's parent is `relative` without its highest bit.
  Work broadcast_bytes(std::byte* data, int64_t bytes, int root) override {
    check_member(root);
    const int relative = (rank_ - root + size()) % size();
    int step = 1;
    for (; step <= relative; step *= 2) {
    }
    if (relative > 0)
      receive(data, bytes, (relative - step / 2 + root) % size(), kCollective).wait();
    std::vector<Work> sending;
    for (; relative + step < size(); step *= 2)
      sending.push_back(send(data, bytes, (relative + step + root) % size(), kCollective));
    for (Work& work : sending) work.wait();
    return {};
  }

  // After each round a rank knows of twice as many that have come.
  void meet() override {
    std::byte none{};
    for (int step = 1; step < size(); step *= 2) {
      Work sent = send(&none, 0, (rank_ + step) % size(), kCollective);
      receive(&none, 0, (rank_ - step + size()) % size(), kCollective).wait();
      sent.wait();
    }
  }

  std::unique_ptr<Group> split(int color, int key) override {
    struct Wish {
      int color, key;
      uint64_t number;
    };
    const std::vector<Wish> all = all_values(Wish{color, key, mesh_->new_group()});
    const std::vector<int> members = members_of(all, color);
    std::vector<int> world_ranks;
    for (const int member : members) world_ranks.push_back(world_ranks_[member]);
    const auto index = std::find(members.begin(), members.end(), rank_) - members.begin();
    return std::make_unique<TcpGroup>(mesh_, all[members[0]].number, std::move(world_ranks),
                                      narrow<int>(index));
  }

  void abort(int exit_code) override { mesh_->abort(exit_code); }

 private:
  void check_member(int peer) const { SKEIN_CHECK(peer >= 0 && peer < size()); }

  Channel channel(int peer, int64_t tag) const {
    check_member(peer);
    return {world_ranks_[peer], number_, tag};
  }
  Work send(const std::byte* data, int64_t bytes, int peer, int64_t tag) {
    return work_of(mesh_, mesh_->send(channel(peer, tag), data, bytes));
  }
  Work receive(std::byte* data, int64_t bytes, int peer, int64_t tag) {
    return work_of(mesh_, mesh_->receive(channel(peer, tag), data, bytes));
  }

  std::shared_ptr<TcpMesh> mesh_;
  uint64_t number_;
  std::vector<int> world_ranks_;
  int rank_;
};

}  // namespace

std::unique_ptr<Group> start_tcp(const TcpJob& job) {
  require(job.ranks >= 1 && job.rank >= 0 && job.rank < job.ranks,
          "rank {} of {} is none; ranks count from 0 to one below their number", job.rank,
          job.ranks);
  check_rendezvous(job);
  allow_more_files();
  std::vector<int> all(job.ranks);
  std::iota(all.begin(), all.end(), 0);
  auto mesh = std::make_shared<TcpMesh>(job.rank, meet(job), job.most_unasked, job.keepalive);
  return std::make_unique<TcpGroup>(std::move(mesh), 0, std::move(all), job.rank);
}

}  // namespace skein::tcp
