// Keeps the stages of a pipeline in step through forward passes that nothing else ties together.
//
// A stage that need not wait for gradients runs as far ahead of the next one as it is faster, and
// all that it sends lies in the next one's memory. With this it is kForwardLead passes ahead at
// most.
//
//   ForwardLead lead(mesh);
//   for (...) { lead.before(); pipeline.run(...); lead.after(); }
//   lead.finish();
//
// All stages make the same number of passes; those of other data-parallel ranks may differ. Where a
// meeting is given each pass is one of its rounds, and nothing is under way between the stages when
// it is interrupted.
#pragma once

#include <cstdint>
#include <deque>

#include "skein/comm/meeting.h"
#include "skein/comm/mesh.h"

namespace skein {

constexpr int64_t kForwardLead = 4;

class ForwardLead {
 public:
  // meeting: where the passes may be interrupted; null: nowhere.
  explicit ForwardLead(const Mesh& mesh, Meeting* meeting = nullptr)
      : mesh_(mesh), meeting_(meeting) {}
  // Waits until the next stage has made all passes but the last kForwardLead.
  void before();
  void after();
  // Waits until the next stage has made all, and, where there is a meeting, all ranks theirs.
  void finish();

 private:
  void hear();
  void hear_all();

  const Mesh& mesh_;
  Meeting* meeting_;
  int64_t made_ = 0, heard_ = 0;
  std::deque<Work> told_;  // the last ones, as the others are done
};

}  // namespace skein
