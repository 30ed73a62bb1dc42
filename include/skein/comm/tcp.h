// The transport over TCP sockets, host memory only, for processes that nothing but their environment has brought together:
// no launcher, no MPI. Any IPv4 or IPv6 network will do; whoever can reach the ports could take a rank's place, so it
// should be one that is trusted, as for MPI.
#pragma once

#include <memory>
#include <string>

#include "skein/comm/group.h"

namespace skein {

struct TcpJob {
  int rank = 0;
  int ranks = 1;
  // "host:port" ("[::1]:port"): rank 0 listens there, on every interface unless the host is a loopback one.
  // "file:///path": rank 0 listens at any free port and writes where to this file, which all ranks see; it replaces what
  // an earlier job has left there and removes its own once all have come. Two jobs at a time need two files.
  std::string rendezvous;
  double timeout = 300;  // seconds for all ranks to come
  std::string origin = "SKEIN_RENDEZVOUS";  // where `rendezvous` was set, for errors
};

// The group of all ranks, once each is connected to each. Ranks may be threads of one process.
//
// Error(usage): a rank that is none, an address or file that cannot be used, ranks that disagree on their number or claim
// the same place. Error(failure): not all came in time, and then which did; a rank was lost on the way.
//
// Different groups may be called from different threads at a time. What arrives before it is asked for is kept in memory.
// When a rank is gone without a goodbye, all that wait throw Error(failure) with its number and "host:port"; who leaves in
// order delays nobody but those who wait for it. Destroying the last group says goodbye and returns when the others have
// read all that was sent, unless an exception is on its way: then the others see a rank that is gone.
// abort() ends every process of the job, ranks that are threads of one process included.
std::unique_ptr<Group> start_tcp(const TcpJob& job);

}  // namespace skein
