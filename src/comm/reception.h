// Those who connect to a rank that listens. All are served at once: who is silent, slow, or talks
// nonsense keeps nobody out. At most 256 that have proven nothing are held, each for 5 s; when more
// come, the one that has been here longest is sent away (a rank that is sent away so comes again).
#pragma once

#include "skein/comm/handshake.h"

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "socket.h"

namespace skein {

// One that has proven its hello and waits for a reply.
struct Arrival {
  Socket socket;
  Address from;
  Listening side;
  std::string hello;

  // False when the connection was lost meanwhile.
  bool answer(const Secret& secret, const std::string& text) const {
    return send_frame_at_once(socket, side.reply(secret, text));
  }
};

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
  // A line of the log, for the first few that are refused for one reason.
  void tell_of_refusal(const Address& from, const std::string& why);

 private:
  struct Guest {
    Arrival who;
    Deadline until;
    FrameReader reader{kLongestHello};
  };
  using Guests = std::list<Guest>;  // the oldest first

  void wait(const Deadline& deadline, const Socket* also);
  void let_in();
  bool make_room();
  // True when the guest is to go, whether it has arrived or not.
  bool attend(Guest& guest, const Secret& secret, std::vector<Arrival>& arrived);

  Socket listener_;
  Guests guests_;
  std::map<std::string, int64_t> refused_;  // by reason
};

}  // namespace skein
