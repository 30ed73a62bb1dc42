// How the ranks of a TCP job find each other. Rank 0 gathers them and sends each the addresses of all; then each connects to those
// below it. Every connection begins with a frame "hello" that says the job's size, the rank and the job's number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skein/comm/tcp.h"
#include "socket.h"

namespace skein {

struct TcpPeer {
  Socket socket;
  std::string name;  // "node7:4711", for messages
};

// Where rank 0 is to be found. From an address, or from the file it has written.
struct Place {
  std::vector<Address> addresses;  // of one host
  uint64_t job = 0;                // a number drawn by rank 0; 0 where it is not known beforehand
  int ranks = 0;                   // 0 likewise
};

bool is_file(const std::string& rendezvous);
// Usage errors unless it is absolute and its folder exists.
std::string file_of(const TcpJob& job);
// Usage error that names both parts.
Address address_of(const TcpJob& job);

// Usage error unless it is one of the two.
inline void check_rendezvous(const TcpJob& job) {
  if (is_file(job.rendezvous))
    file_of(job);
  else
    address_of(job);
}

// Replaces the file in one step.
void write_place(const TcpJob& job, const Place& place);
// Nothing, and `fault` says why, where there is no such file yet or it is no rendezvous.
std::optional<Place> read_place(const std::string& path, std::string& fault);

// Every other rank, connected, in rank order; the own place has no socket.
std::vector<TcpPeer> meet(const TcpJob& job);

}  // namespace skein
