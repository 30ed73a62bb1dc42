#include "rendezvous.h"

#include "skein/core/error.h"
#include "skein/core/log.h"

#include <filesystem>
#include <random>
#include <sstream>
#include <thread>

namespace skein {
namespace {

// A stranger who connects and is silent must not hold up the ranks; one who does not answer may not be rank 0.
constexpr double kHelloSeconds = 5, kAnswerSeconds = 15;
// In the table: on the host of rank 0, by whatever address that is reached.
constexpr const char* kSameHost = "-";

struct Hello {
  int ranks = 0, rank = -1;
  uint64_t job = 0;
  int port = 0;
  std::string host;
};

std::string text_of(const Hello& hello) {
  return fmt::format("hello {} {} {} {} {}", hello.ranks, hello.rank, hello.job, hello.port, hello.host);
}

Hello hello_in(const std::string& text) {
  std::istringstream in(text);
  std::string word;
  Hello hello;
  in >> word >> hello.ranks >> hello.rank >> hello.job >> hello.port >> hello.host;
  if (!in || word != "hello") fail("the other end did not say who it is");
  return hello;
}

// "" when welcome, else why not.
std::string greet(const Socket& socket, const Hello& hello, const Deadline& deadline) {
  send_frame(socket, text_of(hello), deadline);
  const std::string reply = receive_frame(socket, deadline);
  return reply == "welcome" ? "" : reply.substr(reply.find(' ') + 1);
}

std::string list_of(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

uint64_t new_number() {
  std::random_device random;
  return (uint64_t{random()} << 32 | random()) | 1;
}

// The rendezvous file while ranks come. What another job has put in its place stays.
class Published {
 public:
  Published(const TcpJob& job, const Place& place) : path_(file_of(job)), number_(place.job) { write_place(job, place); }
  ~Published() {
    std::string fault;
    std::error_code none;
    const auto found = read_place(path_, fault);
    if (found && found->job == number_) std::filesystem::remove(path_, none);
  }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

 private:
  std::string path_;
  uint64_t number_;
};

// What both sides share: who has come, and who may.
class Meeting {
 public:
  explicit Meeting(const TcpJob& job)
      : job_(job), by_file_(is_file(job.rendezvous)), peers_(static_cast<size_t>(job.ranks)), addresses_(peers_.size()) {}

 protected:
  TcpPeer& peer(int rank) { return peers_[static_cast<size_t>(rank)]; }
  Address& address(int rank) { return addresses_[static_cast<size_t>(rank)]; }
  // Of the ranks above this one, which connect to it.
  std::vector<int> above(bool arrived) {
    std::vector<int> found;
    for (int r = job_.rank + 1; r < job_.ranks; ++r)
      if (static_cast<bool>(peer(r).socket) == arrived) found.push_back(r);
    return found;
  }

  void listen(const Address& at) {
    listener_ = listen_at(at);
    peer(job_.rank).name = Address{host_name(), own_end(listener_).port}.str();
  }

  // Takes the next to come, if it is a rank of this job. False when nobody came in time.
  bool admit_next(const Deadline& deadline) {
    Socket came = accept_from(listener_, deadline);
    if (!came) return false;
    const Address from = other_end(came);
    try {
      const Hello hello = hello_in(receive_frame(came, deadline.within(kHelloSeconds)));
      const std::string fault = objection(hello);
      send_frame(came, fault.empty() ? "welcome" : "refused " + fault, deadline.within(kHelloSeconds));
      if (!fault.empty()) fail("{}", fault);
      peer(hello.rank) = {std::move(came), Address{hello.host, hello.port}.str()};
      address(hello.rank) = {is_loopback(from.host) ? kSameHost : from.host, hello.port};
    } catch (const Error& error) {
      log::warn("a connection from {} was refused: {}", from.str(), error.what());
    }
    return true;
  }

  // A rank that was lost on the way may be started again.
  void forget_the_lost() {
    for (const int rank : above(true))
      if (is_closed(peer(rank).socket)) peer(rank).socket = Socket();
  }

  const TcpJob& job_;
  const bool by_file_;
  uint64_t number_ = 0;    // of the job
  uint64_t expected_ = 0;  // what those who come must know of it
  Socket listener_;
  std::vector<TcpPeer> peers_;
  std::vector<Address> addresses_;

 private:
  std::string objection(const Hello& hello) {
    if (hello.job != expected_) return fmt::format("rank {} on {} was started for another job", hello.rank, hello.host);
    if (hello.ranks != job_.ranks)
      return fmt::format("rank {} on {} was started for a job of {} ranks, but rank {} on {} for one of {}; give all the same number",
                         hello.rank, hello.host, hello.ranks, job_.rank, host_name(), job_.ranks);
    if (hello.rank <= job_.rank || hello.rank >= job_.ranks)
      return fmt::format("rank {} on {} is no rank that connects to rank {} of {}; give each process its own rank",
                         hello.rank, hello.host, job_.rank, job_.ranks);
    forget_the_lost();
    if (!peer(hello.rank).socket) return "";
    return fmt::format("rank {} has come already, from {}; give each process its own rank", hello.rank, peer(hello.rank).name);
  }
};

class RankZero : Meeting {
 public:
  using Meeting::Meeting;

  std::vector<TcpPeer> gather() {
    number_ = new_number();
    const Address at = by_file_ ? Address{} : address_of(job_);
    listen({is_loopback(at.host) ? at.host : "", at.port});
    std::optional<Published> published;
    if (by_file_) published.emplace(job_, place());
    expected_ = by_file_ ? number_ : 0;
    wait_for_all();
    address(0) = {kSameHost, own_end(listener_).port};
    const std::string text = table();
    for (int r = 1; r < job_.ranks; ++r) tell(r, text);
    return std::move(peers_);
  }

 private:
  Place place() const {
    Place made{{}, number_, job_.ranks};
    for (const std::string& host : own_addresses()) made.addresses.push_back({host, own_end(listener_).port});
    return made;
  }

  void wait_for_all() {
    const Deadline deadline(job_.timeout);
    while (!above(false).empty()) {
      admit_next(deadline.within(0.2));
      forget_the_lost();
      if (deadline.passed() && !above(false).empty()) give_up();
    }
  }

  [[noreturn]] void give_up() {
    std::vector<int> here = above(true);
    here.insert(here.begin(), 0);
    const std::string text =
        fmt::format("after {:g} s {} {} arrived at {}={}, but {} {} not; start those, look at their first messages, or raise "
                    "SKEIN_RENDEZVOUS_TIMEOUT", job_.timeout, list_of(here), here.size() == 1 ? "has" : "have", job_.origin,
                    job_.rendezvous, list_of(above(false)), above(false).size() == 1 ? "has" : "have");
    for (const int rank : above(true)) tell(rank, "refused " + text);
    fail("{}", text);
  }

  std::string table() {
    std::string text = fmt::format("table {}\n", number_);
    for (int r = 0; r < job_.ranks; ++r) text += fmt::format("{} {} {}\n", peer(r).name, address(r).host, address(r).port);
    return text;
  }

  void tell(int rank, const std::string& text) {
    try {
      send_frame(peer(rank).socket, text, Deadline(kAnswerSeconds));
    } catch (const Error& error) {
      log::warn("rank {} ({}) was lost before the job began: {}", rank, peer(rank).name, error.what());
    }
  }
};

class OtherRank : Meeting {
 public:
  using Meeting::Meeting;

  std::vector<TcpPeer> join() {
    const Address at = by_file_ ? Address{} : address_of(job_);
    listen({is_loopback(at.host) ? at.host : "", 0});
    find_rank_zero(at);
    for (int r = 1; r < job_.rank; ++r) connect_to_rank(r);
    const Deadline deadline(job_.timeout);
    while (!above(false).empty())
      if (!admit_next(deadline))
        fail("{} cannot connect to rank {} ({}); ranks must reach each other at any port: is there a firewall between their hosts?",
             list_of(above(false)), job_.rank, peer(job_.rank).name);
    return std::move(peers_);
  }

 private:
  Hello hello() const { return {job_.ranks, job_.rank, number_, own_end(listener_).port, host_name()}; }

  void find_rank_zero(const Address& at) {
    const Deadline deadline(job_.timeout);
    const std::string path = by_file_ ? file_of(job_) : "";
    std::string fault;
    while (!deadline.passed()) {
      const std::optional<Place> place = by_file_ ? read_place(path, fault) : Place{{at}, 0, 0};
      if (place && try_place(*place, deadline, fault)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    fail("rank {} has not met rank 0 at {}={} within {:g} s: {}. Start rank 0 there, or raise SKEIN_RENDEZVOUS_TIMEOUT", job_.rank,
         job_.origin, job_.rendezvous, job_.timeout, fault);
  }

  bool try_place(const Place& place, const Deadline& deadline, std::string& fault) {
    if (place.ranks != 0 && place.ranks != job_.ranks)
      return fault = fmt::format("the file there is of a job of {} ranks, this rank was started for {}", place.ranks, job_.ranks), false;
    for (const Address& each : place.addresses) {
      if (deadline.passed()) return false;
      number_ = place.job;
      if (try_address(each, deadline, fault)) return true;
    }
    return false;
  }

  // An address in a file may be a stale one, where anything can happen; then the file is read again.
  bool try_address(const Address& zero, const Deadline& deadline, std::string& fault) {
    Socket socket = connect_to(zero, deadline, fault);
    if (!socket) return false;
    try {
      fault = greet(socket, hello(), deadline.within(kAnswerSeconds));
    } catch (const Error& error) {
      return fault = fmt::format("{}: {}", zero.str(), error.what()), false;
    }
    require(by_file_ || fault.empty(), "rank 0 at {} refuses rank {}: {}", zero.str(), job_.rank, fault);
    return fault.empty() && wait_for_table(std::move(socket), zero, fault);
  }

  // Rank 0 began to wait before this rank has come, so its time is up first.
  bool wait_for_table(Socket socket, const Address& zero, std::string& fault) {
    std::string text;
    try {
      text = receive_frame(socket, Deadline(job_.timeout + kAnswerSeconds));
    } catch (const Error& error) {
      fault = fmt::format("rank 0 ({}) was lost before all had come: {}", zero.str(), error.what());
      if (by_file_) return false;
      fail("{}; look for its first error", fault);
    }
    if (text.starts_with("refused ")) fail("{}", text.substr(8));
    take_table(text, zero.host);
    peer(0).socket = std::move(socket);
    return true;
  }

  void take_table(const std::string& text, const std::string& host_of_zero) {
    std::istringstream in(text);
    std::string word;
    in >> word >> number_;
    for (int r = 0; r < job_.ranks; ++r) {
      in >> peer(r).name >> address(r).host >> address(r).port;
      if (address(r).host == kSameHost) address(r).host = host_of_zero;
    }
    if (!in || word != "table") fail("rank 0 ({}) sent no table of ranks; start all ranks from one build", host_of_zero);
    expected_ = number_;
  }

  void connect_to_rank(int rank) {
    const Deadline deadline(job_.timeout);
    std::string fault;
    peer(rank).socket = connect_to(address(rank), deadline, fault);
    if (!peer(rank).socket)
      fail("rank {} cannot connect to rank {}: {}; ranks must reach each other at any port: is there a firewall between their hosts?",
           job_.rank, rank, fault);
    try {
      fault = greet(peer(rank).socket, hello(), deadline);
    } catch (const Error& error) {
      fault = error.what();
    }
    if (!fault.empty()) fail("rank {} and rank {} ({}) cannot meet: {}", job_.rank, rank, peer(rank).name, fault);
  }
};

}  // namespace

std::vector<TcpPeer> meet(const TcpJob& job) {
  if (job.ranks == 1) return std::vector<TcpPeer>(1);
  return job.rank == 0 ? RankZero(job).gather() : OtherRank(job).join();
}

}  // namespace skein
