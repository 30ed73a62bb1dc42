// The signals that ask a process to stop: TERM, INT, HUP, USR1 and USR2. HUP stays ignored where it
// was ignored before (nohup). A second one changes nothing.
#pragma once

#include <functional>
#include <vector>

namespace skein {

// While one lives they are noted instead of ending the process. They may be nested, also by several
// threads; when the last one goes, the signals mean again what they meant before. After
// catch_stop_signals, when the last one goes because of an error, the signals are ignored from then
// on: the process ends with the error's code.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
};

// The first one that has come, as <csignal> numbers it; 0: none.
int stop_signal();

// From now on they have no effect: for what is left to do after a stop is agreed on. Nothing
// without a StopSignals or catch_stop_signals.
void ignore_stop_signals();

// For main, to the end of the process: a signal that comes while no StopSignals lives and none is
// ignored calls `end`, in a thread of its own; `end` must not return. Also a pipe without a reader
// and a file beyond RLIMIT_FSIZE become errors of write, EPIPE and EFBIG, instead of signals. A
// later call replaces `end` and takes an ignore_stop_signals back.
using EndBySignal = std::function<void(int signal)>;
void catch_stop_signals(EndBySignal end);

// Those of which a process that this one starts needs their usual meaning back.
std::vector<int> changed_signals();

// The exit code of a process that was asked to stop and has committed nothing: 130 after INT, else
// 143.
int code_without_commit(int signal);

}  // namespace skein
