// How the ranks of a TCP job find each other. Rank 0 gathers them and sends each the addresses of
// all; then each connects to those below it. Every connection begins with a handshake (handshake.h)
// under the job's secret, which those between other ranks mix with the job's number.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skein/comm/tcp/frames.h"
#include "skein/comm/tcp/tcp.h"

#include "socket.h"

namespace skein::tcp {

struct TcpPeer {
  Socket socket;
  std::string name;  // "node7:4711", for messages
};

bool is_file(const std::string& rendezvous);
// Usage errors unless it is absolute and its folder exists. Error(failure) where storage fails.
std::string file_of(const TcpJob& job);
// Usage error that names both parts.
Address address_of(const TcpJob& job);

// Usage error unless it is one of the two, its secret is none or long enough, and it is not open to
// other hosts unasked.
void check_rendezvous(const TcpJob& job);

// The rendezvous file while ranks come, which only this user can read; replaces one that is there
// in one step. What another job has put there instead stays at the end.
class PublishedRecord {
 public:
  PublishedRecord(const TcpJob& job, const RendezvousRecord& record);
  ~PublishedRecord();
  PublishedRecord(const PublishedRecord&) = delete;
  PublishedRecord& operator=(const PublishedRecord&) = delete;

 private:
  std::string path_;
  uint64_t number_;
};

// Nothing, and `fault` says why, where there is no such file yet, others can read it, or it is no
// rendezvous.
std::optional<RendezvousRecord> read_record(const std::string& path, std::string& fault);

// Every other rank, connected, in rank order; the own entry has no socket.
std::vector<TcpPeer> meet(const TcpJob& job);

}  // namespace skein::tcp
