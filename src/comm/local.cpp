#include "skein/comm/local.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>

#include "skein/core/log.h"
#include "skein/core/numbers.h"

#include "members.h"

namespace skein {
namespace {

// One run of ranks. Its lock guards this and the state of every group of the run, so that a failure
// reaches all who wait, in whatever group.
struct Job {
  explicit Job(int ranks) : ended(ranks, false) {}

  std::mutex mutex;
  std::condition_variable changed;
  bool aborted = false;
  int exit_code = 0;
  std::vector<bool> ended;     // by world rank: its body has returned or thrown
  std::exception_ptr failure;  // the first a body threw
};

// What one rank brings to a collective.
struct Slot {
  std::string_view operation;
  const void* data = nullptr;
  int64_t bytes = 0;
  int root = 0;

  bool matches(const Slot& other) const {
    return operation == other.operation && bytes == other.bytes && root == other.root;
  }
  std::string str() const {
    return fmt::format("{} of {} bytes with root {}", operation, bytes, root);
  }
};

// Numbered, so that each receive gets the message that was meant for it, in whatever order they are
// waited for.
struct Mailbox {
  int64_t sent = 0;
  int64_t asked = 0;
  std::map<int64_t, std::vector<std::byte>> messages;
};

using Route = std::tuple<int, int, int>;  // source, destination, tag

struct GroupState {
  GroupState(std::shared_ptr<Job> job_of_all, std::vector<int> members)
      : job(std::move(job_of_all)), world_ranks(std::move(members)), slots(world_ranks.size()) {}

  const std::shared_ptr<Job> job;
  const std::vector<int> world_ranks;
  std::vector<Slot> slots;
  size_t arrived = 0;
  int64_t generation = 0;
  std::map<Route, Mailbox> mail;
};

// Returns once ready(), which is looked at first: what has come is taken whatever happened since.
template <class Ready>
void wait_for(std::unique_lock<std::mutex>& lock, Job& job, std::span<const int> needed,
              const std::string& what, Ready ready) {
  const auto lost = [&] {
    return std::find_if(needed.begin(), needed.end(), [&](int rank) { return job.ended[rank]; });
  };
  job.changed.wait(lock, [&] { return ready() || job.aborted || lost() != needed.end(); });
  if (ready()) return;
  if (job.aborted) throw LostRank(fmt::format("stopped in {}: another rank failed", what));
  throw LostRank(
      fmt::format("{} cannot complete: rank {} has ended without taking part", what, *lost()));
}

void take_message(GroupState& shared, const Route& route, int64_t number,
                  std::span<std::byte> into) {
  const auto [source, self, tag] = route;
  const std::string what = fmt::format("rank {}'s receive of {} bytes from rank {} with tag {}",
                                       self, into.size(), source, tag);
  std::unique_lock lock(shared.job->mutex);
  auto& messages = shared.mail[route].messages;
  if (source == self && !messages.contains(number))
    throw Error(ExitCode::internal, fmt::format("{} was never sent", what));
  const int needed = shared.world_ranks[source];
  wait_for(lock, *shared.job, {&needed, 1}, what, [&] { return messages.contains(number); });
  const auto message = messages.extract(number);
  lock.unlock();
  if (message.mapped().size() != into.size())
    throw Error(ExitCode::internal,
                fmt::format("{} met a message of {} bytes", what, message.mapped().size()));
  std::copy(message.mapped().begin(), message.mapped().end(), into.begin());
}

class LocalGroup : public Group {
 public:
  LocalGroup(std::shared_ptr<GroupState> shared, int rank)
      : shared_(std::move(shared)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return narrow<int>(shared_->slots.size()); }

  Work send_bytes(const std::byte* data, int64_t bytes, int peer, int tag) override {
    check_member(peer);
    std::vector<std::byte> copy(data, data + bytes);
    const std::lock_guard lock(job().mutex);
    Mailbox& box = shared_->mail[{rank_, peer, tag}];
    box.messages.emplace(box.sent++, std::move(copy));
    job().changed.notify_all();
    return {};
  }

  Work recv_bytes(std::byte* data, int64_t bytes, int peer, int tag) override {
    check_member(peer);
    const Route route{peer, rank_, tag};
    const std::span into(data, bytes);
    const std::lock_guard lock(job().mutex);
    const int64_t number = shared_->mail[route].asked++;
    return Work(
        [shared = shared_, route, number, into] { take_message(*shared, route, number, into); });
  }

  Work all_gather_bytes(const std::byte* in, std::byte* out, int64_t bytes) override {
    exchange({"all_gather", in, bytes}, [&](const std::vector<Slot>& slots) {
      for (size_t r = 0; r < slots.size(); ++r) copy_block(slots[r].data, 0, out, r, bytes);
    });
    return {};
  }

  Work broadcast_bytes(std::byte* data, int64_t bytes, int root) override {
    check_member(root);
    exchange({"broadcast", data, bytes, root}, [&](const std::vector<Slot>& slots) {
      if (rank_ != root) copy_block(slots[root].data, 0, data, 0, bytes);
    });
    return {};
  }

  void meet() override {
    exchange({"barrier"}, [](const std::vector<Slot>&) {});
  }

  std::unique_ptr<Group> split(int color, int key) override {
    struct Wish {
      int color, key;
    };
    const std::vector<int> members = members_of(all_values(Wish{color, key}), color);
    const size_t leader = members[0];
    std::shared_ptr<GroupState> made;
    if (members[0] == rank_)
      made = std::make_shared<GroupState>(shared_->job, world_ranks_of(members));
    exchange({"split", &made}, [&](const std::vector<Slot>& slots) {
      if (members[0] != rank_)
        made = *static_cast<const std::shared_ptr<GroupState>*>(slots[leader].data);
    });
    const auto index = std::find(members.begin(), members.end(), rank_) - members.begin();
    return std::make_unique<LocalGroup>(std::move(made), narrow<int>(index));
  }

  void abort(int exit_code) override {
    const std::lock_guard lock(job().mutex);
    if (!job().aborted) job().exit_code = exit_code;
    job().aborted = true;
    job().changed.notify_all();
  }

 private:
  Job& job() const { return *shared_->job; }
  void check_member(int peer) const { SKEIN_CHECK(peer >= 0 && peer < size()); }

  static void copy_block(const void* from, size_t from_block, std::byte* to, size_t to_block,
                         int64_t bytes) {
    const size_t step = bytes;
    const auto* source = static_cast<const std::byte*>(from) + from_block * step;
    std::byte* target = to + to_block * step;
    if (step > 0 && source != target) std::memcpy(target, source, step);
  }

  // move(slots) runs while every member stands still, so their buffers may be read. It must not
  // throw.
  template <class Move>
  void exchange(const Slot& mine, Move move) {
    enter(mine);
    const std::string fault = disagreement();
    if (fault.empty()) move(shared_->slots);
    leave();
    if (!fault.empty()) throw Error(ExitCode::internal, fault);
  }

  void enter(const Slot& mine) {
    std::unique_lock lock(job().mutex);
    shared_->slots[rank_] = mine;
    const int64_t now = shared_->generation;
    arrive();
    try {
      wait_for(lock, job(), shared_->world_ranks,
               fmt::format("rank {}'s {}", rank_, mine.operation),
               [&] { return shared_->generation != now; });
    } catch (...) {
      --shared_->arrived;
      throw;
    }
  }

  // Deaf to failures: all members are between enter and leave, where nothing fails, and a member
  // that left early would take its buffer away from those still reading it.
  void leave() {
    std::unique_lock lock(job().mutex);
    const int64_t now = shared_->generation;
    arrive();
    job().changed.wait(lock, [&] { return shared_->generation != now; });
  }

  void arrive() {
    if (++shared_->arrived < shared_->slots.size()) return;
    shared_->arrived = 0;
    ++shared_->generation;
    job().changed.notify_all();
  }

  // "" when all members called the same.
  std::string disagreement() const {
    const std::vector<Slot>& slots = shared_->slots;
    for (size_t r = 1; r < slots.size(); ++r)
      if (!slots[r].matches(slots[0]))
        return fmt::format("ranks called different collectives: rank 0 {}, rank {} {}",
                           slots[0].str(), r, slots[r].str());
    return "";
  }

  std::vector<int> world_ranks_of(const std::vector<int>& members) const {
    std::vector<int> ranks;
    for (int member : members) ranks.push_back(shared_->world_ranks[member]);
    return ranks;
  }

  std::shared_ptr<GroupState> shared_;
  int rank_;
};

std::shared_ptr<GroupState> make_world(int ranks) {
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return std::make_shared<GroupState>(std::make_shared<Job>(ranks), std::move(all));
}

void run_rank(const std::shared_ptr<GroupState>& world, int rank,
              const std::function<void(Group&)>& body) {
  log::set_rank(rank);
  std::exception_ptr thrown;
  bool lost = false;
  try {
    LocalGroup group(world, rank);
    body(group);
  } catch (const LostRank&) {
    thrown = std::current_exception();
    lost = true;
  } catch (...) {
    thrown = std::current_exception();
  }
  Job& job = *world->job;
  const std::lock_guard lock(job.mutex);
  job.ended[rank] = true;
  // Once the job is over, the loss of a rank has a cause that is on record.
  if (thrown && !job.failure && !(lost && job.aborted)) job.failure = thrown;
  if (thrown) job.aborted = true;
  job.changed.notify_all();
}

}  // namespace

std::unique_ptr<Group> single_rank() { return std::make_unique<LocalGroup>(make_world(1), 0); }

void run_ranks(int ranks, const std::function<void(Group&)>& body) {
  SKEIN_CHECK(ranks >= 1);
  const std::shared_ptr<GroupState> world = make_world(ranks);
  std::string refused;
  {
    std::vector<std::jthread> threads;
    try {
      for (int r = 0; r < ranks; ++r)
        threads.emplace_back([&world, &body, r] { run_rank(world, r, body); });
    } catch (const std::system_error& error) {
      refused = error.what();
      LocalGroup(world, 0).abort(static_cast<int>(ExitCode::failure));
    }
  }
  if (!refused.empty())
    fail("cannot start {} ranks as threads: {}; use fewer ranks", ranks, refused);
  const Job& job = *world->job;
  if (job.failure) std::rethrow_exception(job.failure);
  if (job.aborted)
    throw Error(static_cast<ExitCode>(job.exit_code),
                fmt::format("a rank ended the job with exit code {}", job.exit_code));
}

}  // namespace skein
