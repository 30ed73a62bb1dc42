// What the threads of this process did when. While no profile runs, a Span costs one load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skein {

// One piece of work of one thread. Spans nest; names are literals.
struct ProfileEvent {
  const char* name;
  int64_t begin, end;  // nanoseconds of the steady clock
  double flops, bytes;
  int depth;   // spans around it
  int thread;  // number of its thread, in the order of their first spans
};

class Profile {
 public:
  // From now on spans are kept; returns the time. One profile runs at a time.
  static int64_t start();
  // Ends it. Events by thread, each in the order of their begin; spans still open are left out.
  static std::vector<ProfileEvent> stop();
  static bool running();
};

class Span {
 public:
  explicit Span(const char* name, double flops = 0, double bytes = 0);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  int64_t slot_ = -1;
};

// What the spans of one name did by themselves, without the spans inside of them.
struct ProfileShare {
  std::string name;
  int64_t count = 0;
  double seconds = 0, flops = 0, bytes = 0;
};
// Of one thread, most seconds first. Their seconds sum to that of the outermost spans.
std::vector<ProfileShare> shares_of(const std::vector<ProfileEvent>& events, int thread = 0);

}  // namespace skein
