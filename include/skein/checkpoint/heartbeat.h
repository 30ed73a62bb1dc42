// Signs of life of the process that writes a run: who it is, and a file that it renews while it
// runs. No clock of one host is ever compared with that of another: a reader watches whether the
// file changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace skein::checkpoint {

// A process, so that it can be looked for on the host where it runs.
struct ProcessIdentity {
  std::string host;
  // Which start of the system and which space of process numbers; "" where unknown.
  std::string space;
  int64_t process = 0;  // its number there
  int64_t started = 0;  // clock ticks after the start of the system: numbers are used again
};

ProcessIdentity own_identity();

enum class Life { alive, dead, unknown };
// unknown: it is of another host, of an earlier start of this one, or of another container, or
// hidden from this user.
Life life_of(const ProcessIdentity& process);

// A file that is renewed from a thread of its own, and removed when this goes. The thread takes no
// signals.
class Heartbeat {
 public:
  // Makes the file, which must not exist. about: one line, for people. A file that somebody removes
  // is not made again; one that cannot be written is told once.
  Heartbeat(const std::string& path, const std::string& about, std::chrono::milliseconds renewal);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What the file holds now: another text after each renewal. Nothing when there is no such file; ""
// when it cannot be read, which says nothing of its writer.
std::optional<std::string> heartbeat_at(const std::string& path);

}  // namespace skein::checkpoint
