// Where the calling thread is in a run, for messages about what it waits for. Setting it costs a
// few stores.
//
//   const WhereScope here = WhereScope::step(12);
//   const WhereScope block = WhereScope::part("block.3");     // until the end of the scope
#pragma once

#include <cstdint>
#include <string>

namespace skein {

struct Where {
  const char* phase = "";    // "training", "saving": a literal; "" outside of any
  int64_t step = -1;         // number of the step, the first is 1; -1 outside of steps
  int64_t micro_batch = -1;  // its number in the step, from 0; -1 outside of them
  const char* part = "";     // of the model, "block.3"; must live as long as what is recorded there

  // "step 12, micro-batch 3, block.3"; outside of steps the phase, or "outside of steps".
  std::string str() const;
};

// Of this thread.
const Where& where();

// Changes it until the end of the scope.
class WhereScope {
 public:
  static WhereScope phase(const char* name) { return WhereScope({name}); }
  static WhereScope step(int64_t number) { return WhereScope({where().phase, number}); }
  static WhereScope micro_batch(int64_t number) {
    return WhereScope({where().phase, where().step, number, where().part});
  }
  static WhereScope part(const char* name) {
    return WhereScope({where().phase, where().step, where().micro_batch, name});
  }
  ~WhereScope();
  WhereScope(const WhereScope&) = delete;
  WhereScope& operator=(const WhereScope&) = delete;

 private:
  explicit WhereScope(const Where& now);

  Where before_;
};

}  // namespace skein
