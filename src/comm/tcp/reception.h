// Those who connect to a rank that listens. All are served at once: who is silent, slow, or talks
// nonsense keeps nobody out. At most 256 that have proven nothing are held, each for 5 s; when more
// come, one that is drawn by chance is sent away, so that a flood of any kind leaves a slow rank
// its chance (a rank that is sent away comes again).
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "skein/comm/tcp/handshake.h"

#include "socket.h"

namespace skein::tcp {

// One that has proven its hello and waits for a reply.
struct Arrival {
  Socket socket;
  Address from;
  HandshakeListener side;
  std::string hello;

  // False when the connection was lost meanwhile.
  bool answer(const Secret& secret, const std::string& text) const {
    return send_frame_at_once(socket, side.reply(secret, text));
  }
};

// Why somebody was refused; each has lines of its own in the log.
enum class Refusal { silent, strange, unproven, crowded, unfit };
constexpr size_t kRefusals = 5;

class Reception {
 public:
  explicit Reception(Socket listener) : listener_(std::move(listener)) {}

  int port() const { return own_end(listener_).port; }
  // Waits until somebody does something, or something has come at `also`, or the deadline has
  // passed; then serves all whom that concerns. Error(failure) when no connection can be taken
  // because too many files are open.
  std::vector<Arrival> serve(const Secret& secret, const Deadline& deadline,
                             const Socket* also = nullptr);
  // Sends away all that have proven nothing, before a time without serve().
  void clear() { guests_.clear(); }
  // A line of the log, for the first few of a kind.
  void tell_of_refusal(const Address& from, Refusal kind, const std::string& why);

 private:
  struct Guest {
    Arrival who;
    Deadline until;
    FrameReader reader{kLongestHello};
  };

  void wait(const Deadline& deadline, const Socket* also);
  void let_in();
  bool make_room();
  // True when the guest is to go, whether it has arrived or not.
  bool attend(Guest& guest, const Secret& secret, std::vector<Arrival>& arrived);

  Socket listener_;
  std::list<Guest> guests_;
  std::array<int64_t, kRefusals> refused_{};
};

}  // namespace skein::tcp
