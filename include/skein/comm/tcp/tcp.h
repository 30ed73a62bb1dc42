// The transport over TCP sockets, host memory only, for processes that nothing but their
// environment has brought together: no launcher, no MPI. Any IPv4 or IPv6 network will do. Who
// connects proves that it knows the job's secret before anything else is believed, and is shown the
// same proof (comm/tcp/handshake.h); what is sent afterwards is neither encrypted nor signed, so
// who can read or change packets on the way between two hosts must be trusted. SECURITY.md has what
// is promised.
#pragma once

#include <memory>
#include <string>

#include "skein/comm/group.h"

namespace skein::tcp {

struct TcpJob {
  int rank = 0;
  int ranks = 1;
  // "host:port" ("[::1]:port"): rank 0 listens there, on every interface unless the host is a
  // loopback one; without a secret it must be a loopback one, unless `open`.
  // "file:///path": rank 0 listens at any free port. It writes where, and a new secret, to this
  // file, which all ranks see and no other user can read (mode 0600); it replaces what an earlier
  // job has left there and removes its own once all have come. Two jobs at a time need two files.
  std::string rendezvous;
  // "" for none, else 16 bytes or more; with a file both secrets are needed
  std::string secret = "";
  bool open = false;     // without a secret, let everybody in who reaches the port
  double timeout = 300;  // seconds for all ranks to come
  // seconds, 1 at least, after which a rank counts as lost whose host does not answer
  double keepalive = 20;
  std::string origin = "SKEIN_RENDEZVOUS";  // where `rendezvous` was set, for errors
  // Bytes of messages that came before they were asked for, and 1024 for each, that this rank keeps
  // at a time; 0: half of the host's memory, for each rank of it. No schedule comes near: what a
  // stage sends ahead within a step its receiver keeps together with what it made of it until the
  // backward pass, so it would need more than twice the bound; forward passes alone are kept in
  // step by their own messages (parallel/lead.h).
  int64_t most_unasked = 0;
};

// The group of all ranks, once each is connected to each. Ranks may be threads of one process.
//
// Error(usage): a rank that is none, an address or file that cannot be used, ranks that disagree on
// their number or claim the same rank, or have different secrets. Error(failure): not all came in
// time, and then which did; a rank was lost on the way. All who connect are served at once, 256 at
// a time: who is silent or talks nonsense keeps nobody out.
//
// When a rank sends what none may (a message of an unknown kind, of a negative size or one that
// cannot be kept, one after its goodbye, an exit code that is none), all that wait throw
// LostRank with its number and "host:port".
//
// Lets this process open as many files as the host's hard limit allows, up to 65,536.
//
// Different groups may be called from different threads at a time. What arrives before it is asked
// for is kept in memory. When a rank is gone without a goodbye, all that wait throw LostRank
// with its number and "host:port"; who leaves in order delays nobody but those who wait for it.
// Destroying the last group says goodbye and returns when the others have read all that was sent,
// unless an exception is on its way: then the others see a rank that is gone. abort() ends every
// process of the job, ranks that are threads of one process included.
std::unique_ptr<Group> start_tcp(const TcpJob& job);

}  // namespace skein::tcp
