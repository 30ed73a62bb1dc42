// Who stands where when a job stands still, and who of them is waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skein {

// What a rank does that is waited for: an exchange, as it told it.
struct WaitingFor {
  std::string text;    // "all-reduce of 4.0 MiB in the data group (step 12, block.3)"
  std::string group;   // "data"
  int64_t turn = 0;    // of the group's collectives; 0: a message
  int peer = -1;       // the message's other rank in the group
  double seconds = 0;  // so far
};

struct Turn {
  std::string group;
  int number = 0;
  int64_t turn = 0;
};

// A rank as its watchdog, or the host it runs on, tells of it.
struct Standing {
  enum State {
    answers,
    stopped,  // by a signal or a debugger
    blocked,  // in the system: storage that does not answer
    gone,
    silent  // on another host, and does not answer
  };
  int rank = 0;
  std::string host;
  int64_t process = 0, thread = 0;  // their numbers there
  State state = answers;
  bool running = false;               // the thread that trains has used the processor meanwhile
  int64_t step = 0, new_in_step = 0;  // as its FlightRecorder tells them
  std::vector<Turn> turns;
  std::optional<WaitingFor> waiting;
  std::string last;                    // its last exchange, where it waits for none
  std::vector<std::string> exchanges;  // its latest, a line each, the oldest first

  // "rank 3 (host b, process 17) is stopped; its last exchange was ..."
  std::string str() const;
};

// Where it stands, and its latest exchanges: for a file.
std::string record_of(const Standing& standing);

// As the watchdogs of ranks tell each other.
std::string packed(const Standing& standing);
// Nothing where the text is none.
std::optional<Standing> unpacked(const std::string& text);

// What this host knows of one of its threads: gone, stopped, blocked, or answers for all else.
Standing::State state_of_thread(int64_t process, int64_t thread);
// Whether it uses a processor, or would if it were given one.
bool is_runnable(int64_t process, int64_t thread);

struct Behind {
  std::vector<int> ranks;  // ascending
  bool left_out = false;   // they have left out a collective, by what they did in earlier steps
};

// The ranks that others wait for, directly or by others, and that wait for nobody themselves. Where
// all ranks wait, those alone whose exchanges of this step did not follow each other in earlier
// ones, unless that holds for all. In a circle otherwise: those of it that left out a collective
// which others have made before they came to the same place; all of it where nobody can tell. Empty
// where everybody has come to where the others are.
Behind waited_for(const std::vector<Standing>& ranks);

// What is said of a job that stands still.
std::string verdict(const std::vector<Standing>& ranks);

}  // namespace skein
