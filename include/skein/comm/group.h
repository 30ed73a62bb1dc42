// An ordered set of ranks. Every member must call the same collectives in the same order.
//
// Transports (local threads, MPI, TCP) supply moves of bytes, or memory that all members see
// (comm/window.h); every sum is done here, in one fixed order, so a result has the same bits under
// every transport:
//   tree order over n ranks: sum(0..n) = sum(0..h) + sum(h..n), h the largest power of two below n.
// A group of one costs nothing: all its collectives return at once.
//
// Whatever moves tensors or bytes returns a Work; the caller waits for it before it reads or writes
// that memory again. Works may be waited for in any order, but all members start them in the same
// one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skein/comm/flight_recorder.h"
#include "skein/comm/trade.h"
#include "skein/comm/work.h"
#include "skein/core/error.h"
#include "skein/tensor/tensor.h"

namespace skein {

class Window;
class QueuedTransport;

// A peer is gone, and nothing can be exchanged any more: never an error to go on after.
class LostRank : public Error {
 public:
  explicit LostRank(const std::string& text) : Error(ExitCode::failure, text) {}
};

class Group {
 public:
  Group();
  virtual ~Group();
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Of work that members share out one by one: whether this one does number `turn`.
  bool takes(int64_t turn) const { return turn % size() == rank(); }

  // --- moves of bytes: what a transport implements. When a peer is gone, each throws
  // LostRank, unless the launcher ends the job first. ---

  // Never blocks on the receiver. Messages between a pair with equal tags arrive in order.
  virtual Work send_bytes(const std::byte* data, int64_t bytes, int peer, int tag) = 0;
  virtual Work recv_bytes(std::byte* data, int64_t bytes, int peer, int tag) = 0;
  // out holds size() blocks of `bytes`, in rank order. in may be out's own block.
  virtual Work all_gather_bytes(const std::byte* in, std::byte* out, int64_t bytes) = 0;
  virtual Work broadcast_bytes(std::byte* data, int64_t bytes, int root) = 0;
  // Returns once all members have called it.
  virtual void meet() = 0;
  // Members with equal color form a group, ordered by key, then by rank here. Collective.
  virtual std::unique_ptr<Group> split(int color, int key) = 0;
  // Memory that all members see, where they are on one host and the transport has such memory; else
  // null. The first call is collective.
  virtual Window* window() { return nullptr; }
  // Ends every member of the job, now; called once a member cannot go on, from any thread, also
  // while another one is in a call here.
  virtual void abort(int exit_code) = 0;

  // What the group is called in messages, a literal ("data"), and its number among those of that
  // name.
  void set_name(const char* name, int number);
  // Of this member, so far; members that are in step have the same number between collectives.
  int64_t collectives() const { return turn_; }
  void barrier();

  // --- typed collectives, the same for every transport. A watchdog of this thread sees what is
  // under way (comm/flight_recorder.h) ---

  // Between connected devices both ends must queue a pair's messages in one order
  // (comm/queued_transport.h).
  Work send(const Tensor& tensor, int peer, int tag);
  Work recv(const Tensor& tensor, int peer, int tag);
  // out [size()*n] from in [n]. The first dim of out is rank-major: [size(), ...in.shape].
  [[nodiscard]] Work all_gather(const Tensor& in, const Tensor& out);
  // out [n] = tree-ordered sum over ranks of block rank() of in [size()*n]. f32 or f64; bf16 and
  // f16 sum in f32.
  [[nodiscard]] Work reduce_scatter(const Tensor& in, const Tensor& out);
  // Tree-ordered sum over ranks, in place, the same bits on every rank. f32, f64, bf16, f16, i64.
  [[nodiscard]] Work all_reduce_sum(const Tensor& tensor);
  // Elementwise maximum, in place; NaN where any rank has NaN. f32, f64, i64.
  [[nodiscard]] Work all_reduce_max(const Tensor& tensor);
  [[nodiscard]] Work broadcast(const Tensor& tensor, int root);
  // Several trades at once, all of as many bytes; a peer trades with this rank in the same call.
  // Between devices they run in the order of the computation.
  [[nodiscard]] Work trade(std::span<const Trade> trades);

  // For tensors on devices; see comm/queued_transport.h.
  void set_device_transport(std::unique_ptr<QueuedTransport> transport);

  // --- conveniences on host values, complete when they return ---

  double sum(double value);
  int64_t sum(int64_t value);
  int64_t max(int64_t value);
  bool any(bool value);
  // values in rank order
  std::vector<double> all_gather(double value);
  std::string broadcast(const std::string& text, int root);
  std::vector<std::string> all_gather(const std::string& text);

 protected:
  // Of each rank, in rank order; T is plain bytes.
  template <class T>
  std::vector<T> all_values(const T& own) {
    const InFlight here = collective("all-gather", size() * static_cast<int64_t>(sizeof(T)));
    std::vector<T> all(size());
    all_gather_bytes(reinterpret_cast<const std::byte*>(&own),
                     reinterpret_cast<std::byte*>(all.data()), sizeof(T))
        .wait();
    return all;
  }

 private:
  template <class T>
  T sum_values(T value);
  Window* window_for(int64_t bytes);
  // A collective that begins here.
  InFlight collective(const char* what, int64_t bytes);
  Work watched(Work work, const char* what, int64_t bytes, int peer, bool outgoing) const;

  const char* name_ = "world";
  int64_t turn_ = 0;
  std::unique_ptr<QueuedTransport> devices_;
};

}  // namespace skein
