// The file `generation-000003` that a start of a run leaves: which run and which start it is, what
// it began from, who writes it.
#pragma once

#include <cstdint>
#include <string>

#include "skein/checkpoint/heartbeat.h"

namespace skein::checkpoint {

// Begins the name of such a file; the number of the generation and a name of its own follow.
inline constexpr char kHeartbeat[] = "heartbeat-";

struct Generation {
  int64_t number = 0;
  std::string run = {};   // the run's id; "" in files of programs that knew none
  std::string base = {};  // name of the newest checkpoint when it started; "" for none
  int ranks = 1;
  ProcessIdentity writer = {};
  // Name of the file beside it that its start renews while it runs; "" for none.
  std::string heartbeat = {};
};

std::string generation_text(const Generation& generation);
// Throws an exception that says what is wrong with the text.
Generation parse_generation(const std::string& text);

// "generation 3 of this run (host h1, process 4711)", for messages.
std::string named(const Generation& generation);

// 32 random hex digits.
std::string new_run_id();
// A usage error, which names `origin`, unless it is "" or 1 to 64 letters, digits, '-', '_' and
// '.'.
void check_run_id(const std::string& id, const std::string& origin);

}  // namespace skein::checkpoint
