#include "reception.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <poll.h>

#include "skein/core/error.h"
#include "skein/core/log.h"

namespace skein::tcp {
namespace {

constexpr double kGuestSeconds = 5;
constexpr size_t kMostGuests = 256;
// Let in before those who are here are heard again.
constexpr int kTurn = 64;
// Of one kind. What strangers say must neither fill the log nor use up the lines of other kinds.
constexpr int64_t kMostLines = 5;

bool out_of_files(int error) { return error == EMFILE || error == ENFILE; }

}  // namespace

std::vector<Arrival> Reception::serve(const Secret& secret, const Deadline& deadline,
                                      const Socket* also) {
  wait(deadline, also);
  std::vector<Arrival> arrived;
  guests_.remove_if([&](Guest& guest) { return attend(guest, secret, arrived); });
  let_in();
  return arrived;
}

void Reception::wait(const Deadline& deadline, const Socket* also) {
  std::vector<pollfd> watched{{listener_.descriptor(), POLLIN, 0}};
  if (also) watched.push_back({also->descriptor(), POLLIN, 0});
  int longest = deadline.milliseconds();
  for (const Guest& guest : guests_) {
    watched.push_back({guest.who.socket.descriptor(), POLLIN, 0});
    longest = std::min(longest, guest.until.milliseconds());
  }
  poll(watched.data(), watched.size(), longest);
}

bool Reception::attend(Guest& guest, const Secret& secret, std::vector<Arrival>& arrived) {
  Arrival& who = guest.who;
  try {
    if (!guest.reader.read(who.socket)) {
      if (guest.until.passed())
        throw Silence(fmt::format("it has not said who it is within {:g} s", kGuestSeconds));
      return false;
    }
    std::optional<std::string> hello = who.side.hello(secret, guest.reader.content());
    if (!hello) {
      send_frame_at_once(who.socket, HandshakeListener::reply_to_stranger());
      tell_of_refusal(who.from, Refusal::unproven, "it does not know the secret of this job");
      return true;
    }
    who.hello = std::move(*hello);
    arrived.push_back(std::move(who));
  } catch (const Silence& error) {
    tell_of_refusal(who.from, Refusal::silent, error.what());
  } catch (const Error& error) {
    tell_of_refusal(who.from, Refusal::strange, error.what());
  }
  return true;
}

void Reception::let_in() {
  for (int turn = 0; turn < kTurn; ++turn) {
    Socket came = accept_from(listener_);
    if (!came && out_of_files(errno) && make_room()) continue;
    if (!came) return;
    if (guests_.size() >= kMostGuests) make_room();
    const Address from = other_end(came);
    Guest guest{{std::move(came), from, {}, ""}, Deadline(kGuestSeconds)};
    // What is new takes 48 bytes, if it takes any.
    if (send_frame_at_once(guest.who.socket, guest.who.side.greeting()))
      guests_.push_back(std::move(guest));
  }
}

bool Reception::make_room() {
  if (guests_.empty())
    fail("too many open files for the connections of all ranks; raise 'ulimit -n'");
  const std::ptrdiff_t index = fresh_job_number() % guests_.size();
  const auto chosen = std::next(guests_.begin(), index);
  tell_of_refusal(chosen->who.from, Refusal::crowded,
                  "too many others have come, and it had not said who it is");
  guests_.erase(chosen);
  return true;
}

void Reception::tell_of_refusal(const Address& from, Refusal kind, const std::string& why) {
  const int64_t alike = ++refused_[static_cast<size_t>(kind)];
  if (alike > kMostLines) return;
  log::warn("a connection from {} was refused: {}{}", from.str(), why,
            alike == kMostLines ? "; others like it are refused without a line" : "");
}

}  // namespace skein::tcp
