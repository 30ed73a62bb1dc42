// Invariants.
//
// Every connection begins with the job's word, which only its ranks know; whoever brings another
// one is let go. Frames from rank 0: "where" and "end"; to rank 0: "late", and a packed Standing
// for each "where". Nothing is sent before a rank is late.
#include "skein/comm/roll_call.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <future>
#include <set>
#include <thread>

#include "skein/comm/group.h"
#include "skein/comm/tcp/secret.h"
#include "skein/core/host.h"
#include "skein/core/log.h"

#include "tcp/socket.h"

namespace skein {
namespace {

using tcp::Address;
using tcp::Deadline;
using tcp::FrameReader;
using tcp::Socket;

constexpr size_t kMostBytes = 64 << 10;
constexpr size_t kFirstBytes = 1 << 10, kStrangers = 256;  // before the word was brought
constexpr int kAtOnce = 64;                                // connections taken at a time
constexpr double kMeeting = 10;                            // seconds in which all connect
// Seconds between ranks that miss rank 0, and at most: mpirun takes more than one to end the
// others.
constexpr double kTurn = 2, kTurns = 6;

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

struct Line {
  Socket socket;
  std::unique_ptr<FrameReader> reader = std::make_unique<FrameReader>(kMostBytes);

  // What has come, whole; nothing where there is no more, or the other end is gone.
  std::optional<std::string> next() {
    try {
      if (!socket || !reader->read(socket)) return {};
    } catch (const Error&) {
      socket.close();
      return {};
    }
    std::string content = reader->content();
    reader = std::make_unique<FrameReader>(kMostBytes);
    return content;
  }
  bool say(const std::string& text) { return socket && tcp::send_frame_at_once(socket, text); }
};

std::string hex_word() {
  std::string word;
  for (const auto byte : tcp::fresh_number()) word += fmt::format("{:02x}", byte);
  return word;
}

// Where rank 0 listens, for the others: a word, a port, and its addresses.
struct MeetingPlace {
  std::string word;
  int port = 0;
  std::vector<std::string> hosts;

  std::string str() const {
    std::string text = fmt::format("{} {}", word, port);
    for (const std::string& host : hosts) text += " " + host;
    return text;
  }
  static MeetingPlace of(const std::string& text) {
    MeetingPlace made;
    std::istringstream words(text);
    words >> made.word >> made.port;
    for (std::string host; words >> host;) made.hosts.push_back(host);
    return made;
  }
};

// Fills in what their hosts know of ranks that do not answer.
void look_at_silent(const std::string& own_host, Standing& one) {
  one.state = Standing::silent;
  one.waiting.reset();
  if (one.host != own_host) return;
  const Standing::State found = state_of_thread(one.process, one.thread);
  if (found != Standing::answers) one.state = found;
}

class Leader : public RollCall {
 public:
  explicit Leader(std::vector<Standing> all) : all_(std::move(all)), lines_(all_.size()) {}

  // Until `wanted` ranks have come, ten seconds at most; how many came.
  int admit(const Socket& listener, const std::string& word, const std::atomic<int>& wanted) {
    const Deadline deadline(kMeeting);
    std::vector<Line> strangers;
    int came = 0;
    while (came < wanted && !deadline.passed()) {
      for (int turn = 0; turn < kAtOnce; ++turn) {
        Socket one = tcp::accept_from(listener);
        if (!one) break;
        if (strangers.size() == kStrangers) strangers.erase(strangers.begin());
        strangers.push_back({std::move(one), std::make_unique<FrameReader>(kFirstBytes)});
      }
      for (Line& stranger : strangers)
        if (const auto first = stranger.next()) came += seat(stranger, *first, word);
      std::erase_if(strangers, [](const Line& line) { return !line.socket; });
      pause();
    }
    return came;
  }

  Heard listen(const std::function<Standing()>&) override {
    Heard heard = Heard::nothing;
    for (Line& line : lines_)
      while (const auto said = line.next())
        if (*said == "end")
          heard = Heard::over;
        else if (*said == "late" && heard == Heard::nothing)
          heard = Heard::late;
    return heard;
  }

  std::string call(const std::function<Standing()>& own) override {
    std::set<int> open;
    for (int rank = 1; rank < std::ssize(lines_); ++rank)
      if (lines_[static_cast<size_t>(rank)].say("where")) open.insert(rank);
    std::vector<bool> answered(all_.size(), false);
    for (const Deadline deadline(kAnswers); !open.empty() && !deadline.passed(); pause())
      std::erase_if(open, [&](int rank) { return take_answer(rank, answered); });
    all_[0] = own();
    for (size_t rank = 1; rank < all_.size(); ++rank)
      if (!answered[rank]) look_at_silent(all_[0].host, all_[rank]);
    return verdict(all_);
  }

  void dismiss() override {
    for (Line& line : lines_) line.say("end");
  }

  std::string records() const override {
    std::string text;
    for (const Standing& one : all_) text += record_of(one) + "\n";
    return text;
  }

 private:
  bool seat(Line& stranger, const std::string& first, const std::string& word) {
    std::istringstream words(first);
    std::string brought;
    int rank = 0;
    words >> brought >> rank;
    if (brought != word || rank < 1 || rank >= std::ssize(lines_)) {
      stranger.socket.close();
      return false;
    }
    lines_[static_cast<size_t>(rank)] = std::move(stranger);
    return true;
  }
  bool take_answer(int rank, std::vector<bool>& answered) {
    Line& line = lines_[static_cast<size_t>(rank)];
    while (const auto said = line.next()) {
      const auto standing = unpacked(*said);
      if (!standing || standing->rank != rank) continue;
      all_[static_cast<size_t>(rank)] = *standing;
      return answered[static_cast<size_t>(rank)] = true;
    }
    return !line.socket;
  }

  std::vector<Standing> all_;
  std::vector<Line> lines_;  // by rank; none of the own
};

class Follower : public RollCall {
 public:
  Follower(Socket socket, Standing leader) : leader_(std::move(leader)) {
    line_.socket = std::move(socket);
  }

  Heard listen(const std::function<Standing()>& own) override {
    while (const auto said = line_.next()) {
      if (*said == "end") return Heard::over;
      if (*said == "where") line_.say(packed(own()));
    }
    return Heard::nothing;
  }

  std::string call(const std::function<Standing()>& own) override {
    line_.say("late");
    const Standing here = own();
    for (const Deadline deadline(kLeader); line_.socket && !deadline.passed(); pause()) {
      if (listen(own) == Heard::over) return "";
      look_at_silent(here.host, leader_);
      if (leader_.state != Standing::silent) break;
    }
    // One of them is enough to say so.
    for (const Deadline turn(std::min(kTurns, kTurn * (here.rank - 1))); !turn.passed(); pause())
      if (listen(own) == Heard::over) return "";
    return fmt::format("the job stands still: {}. This one waits; {}", leader_.str(), here.str());
  }

  void dismiss() override { line_.say("end"); }

 private:
  Line line_;
  Standing leader_;  // as it was at the beginning, but for its state
};

// A line to the leader; none where it could not be reached.
Line line_to(const MeetingPlace& meeting, int rank) {
  tcp::NoConnection why;
  const Deadline deadline(kMeeting);
  for (const std::string& host : meeting.hosts) {
    Socket socket = tcp::connect_to({host, meeting.port}, deadline.within(2), why);
    if (!socket) continue;
    Line line{std::move(socket)};
    if (line.say(fmt::format("{} {}", meeting.word, rank))) return line;
  }
  return {};
}

// Collective. How many of the others have a line to rank 0. A rank that is gone is an error here,
// where it is not waited for.
int connected_ranks(Group& world, bool connected) {
  int sum = 0;
  for (const double one : world.all_gather(connected ? 1.0 : 0.0)) sum += static_cast<int>(one);
  return sum;
}

// On rank 0: those who come are admitted while it hears from all whether they did.
int admit_all(Group& world, Leader& leader, const Socket& listener, const std::string& word) {
  std::atomic<int> wanted = world.size() - 1;
  std::future<int> came =
      std::async(std::launch::async, [&] { return leader.admit(listener, word, wanted); });
  try {
    wanted = connected_ranks(world, false);
  } catch (...) {
    wanted = 0;
    throw;
  }
  return came.get();
}

}  // namespace

std::unique_ptr<RollCall> RollCall::begin(Group& world, const Standing& own) {
  if (world.size() == 1) return nullptr;
  std::vector<Standing> all;
  for (const std::string& text : world.all_gather(packed(own))) {
    all.push_back(unpacked(text).value_or(Standing{}));
    SKEIN_CHECK_EQ(all.back().rank, std::ssize(all) - 1);
  }
  const bool one_host =
      std::ranges::all_of(all, [&](const Standing& one) { return one.host == own.host; });
  MeetingPlace meeting;
  Socket listener;
  if (world.rank() == 0) {
    listener = tcp::listen_at({one_host ? "127.0.0.1" : "", 0});
    meeting = {hex_word(), tcp::own_end(listener).port,
               one_host ? std::vector<std::string>{"127.0.0.1"} : tcp::own_addresses()};
  }
  meeting = MeetingPlace::of(world.broadcast(meeting.str(), 0));
  if (world.rank() > 0) {
    Line line = line_to(meeting, world.rank());
    connected_ranks(world, static_cast<bool>(line.socket));
    return std::make_unique<Follower>(std::move(line.socket), all[0]);
  }
  auto leader = std::make_unique<Leader>(std::move(all));
  const int came = admit_all(world, *leader, listener, meeting.word);
  if (came + 1 < world.size())
    log::warn(
        "{} of {} ranks cannot reach this one at port {}: where the job stands still, nobody hears "
        "from them. Open the hosts' ports to each other",
        world.size() - 1 - came, world.size() - 1, meeting.port);
  return leader;
}

}  // namespace skein
