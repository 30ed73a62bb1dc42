#include "rendezvous.h"

#include <cmath>
#include <thread>
#include <utility>

#include "skein/core/error.h"
#include "skein/core/host.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"

#include "reception.h"

namespace skein::tcp {
namespace {

// Who listens greets and answers at once; one who does not may not be a rank, and a rank that was
// too busy is asked again.
constexpr double kAnswerSeconds = 4;
// For what only ranks are told.
constexpr double kTellSeconds = 15;
// What is on the way, such as a switch, may come back.
constexpr double kNoWaySeconds = 15;
constexpr std::chrono::milliseconds kPause{50};
// In the table: on the host of rank 0, by whatever address that is reached.
constexpr const char* kSameHost = "-";

// A rank before version 2 of the protocol waits for a hello without a greeting.
std::string greeting_from(const Socket& socket, const Deadline& deadline) {
  const double seconds = std::round(deadline.milliseconds() / 100.0) / 10;
  try {
    return receive_frame(socket, kGreetingBytes, deadline);
  } catch (const Silence& error) {
    if (!deadline.passed()) throw;
    throw Silence(
        fmt::format("it did not greet within {:g} s; is it a rank of an older build?", seconds));
  }
}

// The answer to `hello`, from the other end of the connection. Silence when there is none in time,
// Error(usage) when the other end does not know the secret.
HelloReply greet(const Socket& socket, const Secret& secret, const Hello& hello,
                 const Deadline& deadline) {
  HandshakeConnector side(secret);
  const std::string greeting = greeting_from(socket, deadline);
  send_frame(socket, side.hello(greeting, text_of(hello)), deadline);
  return reply_in(side.reply(receive_frame(socket, kLongestReply, deadline)));
}

std::string list_of(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

std::string name_here() { return visible(host_name()); }

// What both sides share: who has come, and who may.
class RendezvousSide {
 public:
  explicit RendezvousSide(const TcpJob& job)
      : job_(job),
        by_file_(is_file(job.rendezvous)),
        secret_(job.secret),
        peers_(job.ranks),
        addresses_(peers_.size()) {}

 protected:
  TcpPeer& peer(int rank) { return peers_[rank]; }
  Address& address(int rank) { return addresses_[rank]; }
  int port() const { return reception_->port(); }
  // Of the ranks above this one, which connect to it.
  std::vector<int> above(bool arrived) {
    std::vector<int> found;
    for (int r = job_.rank + 1; r < job_.ranks; ++r)
      if (static_cast<bool>(peer(r).socket) == arrived) found.push_back(r);
    return found;
  }

  void listen(const Address& at) {
    reception_.emplace(listen_at(at));
    peer(job_.rank).name = Address{name_here(), port()}.str();
  }

  // Serves those who connect, for a moment at most, and takes those who are ranks of this job.
  void serve(const Deadline& deadline, const Socket* also = nullptr) {
    for (Arrival& arrival : reception_->serve(secret_, deadline.within(0.2), also)) {
      const std::string fault = admit(arrival);
      if (!fault.empty()) reception_->tell_of_refusal(arrival.from, Refusal::unfit, fault);
    }
  }

  // A rank that was lost on the way may be started again.
  void forget_the_lost() {
    for (const int rank : above(true))
      if (is_closed(peer(rank).socket)) peer(rank).socket = Socket();
  }

  const TcpJob& job_;
  const bool by_file_;
  uint64_t number_ = 0;  // of the job
  Secret secret_;        // of the connections that come here
  std::optional<Reception> reception_;
  std::vector<TcpPeer> peers_;
  std::vector<Address> addresses_;

 private:
  // "" when it is in, else why not.
  std::string admit(Arrival& arrival) {
    Hello hello;
    try {
      hello = hello_in(arrival.hello);
    } catch (const Error& error) {
      return error.what();
    }
    const std::string fault = objection(hello);
    const HelloReply answer{fault.empty() ? number_ : 0, fault};
    if (!arrival.answer(secret_, text_of(answer))) return "it was lost while it came";
    if (!fault.empty()) return fault;
    peer(hello.rank) = {std::move(arrival.socket), Address{hello.host, hello.port}.str()};
    const std::string& host = arrival.from.host;
    address(hello.rank) = {is_loopback(host) ? kSameHost : host, hello.port};
    return "";
  }

  std::string objection(const Hello& hello) {
    if (hello.ranks != job_.ranks)
      return fmt::format(
          "rank {} on {} was started for a job of {} ranks, but rank {} on {} for one of {}; give "
          "all the same number",
          hello.rank, hello.host, hello.ranks, job_.rank, name_here(), job_.ranks);
    if (hello.to != job_.rank || hello.rank <= job_.rank || hello.rank >= job_.ranks)
      return fmt::format(
          "rank {} on {}, which wants rank {}, is no rank that connects to rank {} of {}; give "
          "each process its own rank",
          hello.rank, hello.host, hello.to, job_.rank, job_.ranks);
    forget_the_lost();
    if (!peer(hello.rank).socket) return "";
    return fmt::format("rank {} has come already, from {}; give each process its own rank",
                       hello.rank, peer(hello.rank).name);
  }
};

class RankZero : RendezvousSide {
 public:
  using RendezvousSide::RendezvousSide;

  std::vector<TcpPeer> gather() {
    number_ = fresh_job_number();
    const Address at = by_file_ ? Address{} : address_of(job_);
    listen({is_loopback(at.host) ? at.host : "", at.port});
    std::optional<PublishedRecord> published;
    if (by_file_) publish(published);
    wait_for_all();
    address(0) = {kSameHost, port()};
    const std::string text = text_of(table());
    for (int r = 1; r < job_.ranks; ++r) tell(r, text);
    return std::move(peers_);
  }

 private:
  void publish(std::optional<PublishedRecord>& published) {
    RendezvousRecord made{{}, number_, job_.ranks, fresh_secret()};
    for (const std::string& host : own_addresses()) made.addresses.push_back({host, port()});
    secret_ = Secret(job_.secret, made.secret);
    published.emplace(job_, made);
  }

  void wait_for_all() {
    const Deadline deadline(job_.timeout);
    while (!above(false).empty()) {
      serve(deadline);
      forget_the_lost();
      if (deadline.passed() && !above(false).empty()) give_up();
    }
  }

  [[noreturn]] void give_up() {
    std::vector<int> here = above(true);
    here.insert(here.begin(), 0);
    const std::vector<int> missing = above(false);
    const std::string text = fmt::format(
        "after {:g} s {} {} arrived at {}={}, but {} {} not; start those, look at their first "
        "messages, or raise SKEIN_RENDEZVOUS_TIMEOUT",
        job_.timeout, list_of(here), here.size() == 1 ? "has" : "have", job_.origin,
        job_.rendezvous, list_of(missing), missing.size() == 1 ? "has" : "have");
    for (const int rank : above(true)) tell(rank, text_of(RankTable{{}, text}));
    fail("{}", text);
  }

  RankTable table() {
    RankTable all;
    for (int r = 0; r < job_.ranks; ++r) all.rows.push_back({peer(r).name, address(r)});
    return all;
  }

  void tell(int rank, const std::string& text) {
    try {
      send_frame(peer(rank).socket, text, Deadline(kTellSeconds));
    } catch (const Error& error) {
      log::warn("rank {} ({}) was lost before the job began: {}", rank, peer(rank).name,
                error.what());
    }
  }
};

class OtherRank : RendezvousSide {
 public:
  using RendezvousSide::RendezvousSide;

  std::vector<TcpPeer> join() {
    const Address at = by_file_ ? Address{} : address_of(job_);
    listen({is_loopback(at.host) ? at.host : "", 0});
    find_rank_zero(at);
    reception_->clear();
    for (int r = 1; r < job_.rank; ++r) connect_to_rank(r);
    const Deadline deadline(job_.timeout);
    while (!above(false).empty()) {
      serve(deadline);
      if (deadline.passed() && !above(false).empty())
        fail(
            "{} cannot connect to rank {} ({}); ranks must reach each other at any port: is there "
            "a firewall between their hosts?",
            list_of(above(false)), job_.rank, peer(job_.rank).name);
    }
    return std::move(peers_);
  }

 private:
  Hello hello_to(int rank) const { return {job_.ranks, job_.rank, rank, port(), name_here()}; }

  void find_rank_zero(const Address& at) {
    const Deadline deadline(job_.timeout);
    while (!deadline.passed()) {
      const std::optional<RendezvousRecord> record =
          by_file_ ? read_record(path_, fault_) : RendezvousRecord{{at}, 0, 0, ""};
      if (record && try_record(*record, deadline)) return;
      std::this_thread::sleep_for(kPause);
    }
    fail(
        "rank {} has not met rank 0 at {}={} within {:g} s: {}. Start rank 0 there, or raise "
        "SKEIN_RENDEZVOUS_TIMEOUT",
        job_.rank, job_.origin, job_.rendezvous, job_.timeout, told_.empty() ? fault_ : told_);
  }

  bool try_record(const RendezvousRecord& record, const Deadline& deadline) {
    if (std::exchange(tried_, record.job) != record.job) told_.clear();
    if (record.ranks != 0 && record.ranks != job_.ranks) {
      told_ = fmt::format("the file there is of a job of {} ranks, this rank was started for {}",
                          record.ranks, job_.ranks);
      return false;
    }
    const Secret secret(job_.secret, record.secret);
    for (const Address& each : record.addresses) {
      if (deadline.passed()) return false;
      if (try_address(each, secret, deadline)) return true;
      if (is_replaced(record)) return false;
    }
    return false;
  }

  // What was read is stale when the file holds another record by now.
  bool is_replaced(const RendezvousRecord& record) const {
    std::string fault;
    const std::optional<RendezvousRecord> now =
        by_file_ ? read_record(path_, fault) : std::optional<RendezvousRecord>(record);
    return !now || now->job != record.job;
  }

  // An address in a file may be a stale one, where anything can happen; then the file is read
  // again.
  bool try_address(const Address& zero, const Secret& secret, const Deadline& deadline) {
    NoConnection why;
    Socket socket = connect_to(zero, deadline, why);
    if (!socket) return fault_ = why.text, false;
    HelloReply answer;
    try {
      answer = greet(socket, secret, hello_to(0), deadline.within(kAnswerSeconds));
    } catch (const Silence& error) {
      fault_ = fmt::format("{}: {}", zero.str(), error.what());
      return false;
    } catch (const Error& error) {
      told_ = fmt::format("{}: {}", zero.str(), error.what());
      require(by_file_ || error.code() != ExitCode::usage, "rank {} does not join: {}", job_.rank,
              told_);
      return false;
    }
    told_ = answer.fault;
    require(by_file_ || told_.empty(), "rank 0 at {} refuses rank {}: {}", zero.str(), job_.rank,
            told_);
    if (!told_.empty()) return false;
    number_ = answer.job;
    secret_ = secret.of_job(number_);
    return wait_for_table(std::move(socket), zero);
  }

  // Rank 0 began to wait before this rank has come, so its time is up first. Those above may have
  // their table earlier and come meanwhile.
  bool wait_for_table(Socket socket, const Address& zero) {
    const Deadline deadline(job_.timeout + kTellSeconds);
    FrameReader reader(std::max(kLongestFault + 16, job_.ranks * kLongestRow));
    std::string fault;
    while (!has_table(reader, socket, deadline, fault)) {
      if (fault.empty()) {
        serve(deadline, &socket);
        continue;
      }
      told_ = fmt::format("rank 0 ({}) was lost before all had come: {}", zero.str(), fault);
      if (!by_file_) fail("{}; look for its first error", told_);
      for (const int rank : above(true)) peer(rank).socket = Socket();
      return false;
    }
    take_table(table_in(reader.content(), job_.ranks), zero.host);
    peer(0).socket = std::move(socket);
    return true;
  }

  // Sets `fault` when there will be none.
  static bool has_table(FrameReader& reader, const Socket& socket, const Deadline& deadline,
                        std::string& fault) {
    try {
      if (reader.read(socket)) return true;
      if (deadline.passed()) fail("no answer came in time");
    } catch (const Error& error) {
      fault = error.what();
    }
    return false;
  }

  void take_table(const RankTable& table, const std::string& host_of_zero) {
    if (!table.fault.empty()) fail("{}", table.fault);
    for (int r = 0; r < job_.ranks; ++r) {
      const RankRow& row = table.rows[r];
      peer(r).name = row.name;
      address(r) = row.address;
      if (row.address.host == kSameHost) address(r).host = host_of_zero;
    }
  }

  // A rank that has been sent away to make room comes again, as does one that was not heard.
  void connect_to_rank(int rank) {
    const Deadline deadline(job_.timeout), no_way = deadline.within(kNoWaySeconds);
    NoConnection why;
    std::string fault;
    while (!why.final && !deadline.passed() && !(why.no_way && no_way.passed())) {
      peer(rank).socket = connect_to(address(rank), deadline, why);
      if (peer(rank).socket && is_welcome_at(rank, deadline, fault)) return;
      std::this_thread::sleep_for(kPause);
    }
    if (peer(rank).socket) fail_to_meet(rank, fault);
    fail(
        "rank {} cannot connect to rank {}: {}; ranks must reach each other at any port: is there "
        "a firewall between their hosts?",
        job_.rank, rank, why.text);
  }

  bool is_welcome_at(int rank, const Deadline& deadline, std::string& fault) {
    HelloReply answer;
    try {
      answer = greet(peer(rank).socket, secret_, hello_to(rank), deadline);
    } catch (const Error& error) {
      fault = error.what();
      if (error.code() == ExitCode::usage) fail_to_meet(rank, fault);
      return false;
    }
    if (answer.job != number_) fail_to_meet(rank, answer.fault);
    return true;
  }

  [[noreturn]] void fail_to_meet(int rank, const std::string& fault) {
    fail("rank {} and rank {} ({}) cannot meet: {}", job_.rank, rank, peer(rank).name, fault);
  }

  const std::string path_ = by_file_ ? file_of(job_) : "";
  // Why rank 0 has not been met: what has failed last, and what somebody at an address of the
  // record `tried_` has said, which tells more.
  std::string fault_, told_;
  uint64_t tried_ = 0;
};

}  // namespace

std::vector<TcpPeer> meet(const TcpJob& job) {
  if (job.ranks == 1) return std::vector<TcpPeer>(1);
  return job.rank == 0 ? RankZero(job).gather() : OtherRank(job).join();
}

}  // namespace skein::tcp
