// What comes before each message between ranks that have met. Its bytes are a peer's: nothing in it
// is used before fault_of has seen it.
#pragma once

#include <cstdint>
#include <string>

namespace skein::tcp {

// A goodbye says that no more will come; the farewell it is answered by, that all has been read. A
// loss names the rank that is gone.
enum class TcpKind : int32_t { message, goodbye, farewell, loss, abort };

struct TcpHead {
  TcpKind kind = TcpKind::message;
  int32_t code = 0;  // of an abort; the rank of a loss
  uint64_t group = 0;
  int64_t tag = 0;
  int64_t bytes = 0;
};
constexpr int64_t kTcpHeadBytes = sizeof(TcpHead);

// True for the exit codes that one rank may end the others with: 1 to 255, as 0 would say that the
// job has done its work.
bool may_end_a_job(int code);

// "" for a head that one rank of a job of `ranks` may send to another, else what is wrong with it.
std::string fault_of(const TcpHead& head, int ranks);

}  // namespace skein::tcp
