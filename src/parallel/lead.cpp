#include "skein/parallel/lead.h"

namespace skein {
namespace {

constexpr int kTag = (1 << 20) + 1;  // of no stage's message, and not of Buckets'
constexpr std::byte kMark{1};

}  // namespace

void ForwardLead::before() {
  try {
    if (meeting_) meeting_->pass();
  } catch (const Interruption&) {
    hear_all();  // all stages are at the same pass
    throw;
  }
  if (!mesh_.last_stage() && made_ - heard_ >= kForwardLead) hear();
}

void ForwardLead::after() {
  ++made_;
  if (mesh_.first_stage()) return;
  told_.push_back(mesh_.pp().send_bytes(&kMark, 1, mesh_.stage() - 1, kTag));
  // The previous stage began this pass before it could end here, so it has heard of all but the
  // last kForwardLead.
  for (; static_cast<int64_t>(told_.size()) > 2 * kForwardLead; told_.pop_front())
    told_.front().wait();
}

void ForwardLead::finish() {
  hear_all();
  if (meeting_) meeting_->finish();
}

void ForwardLead::hear_all() {
  while (!mesh_.last_stage() && heard_ < made_) hear();
  for (Work& work : told_) work.wait();
  told_.clear();
}

void ForwardLead::hear() {
  std::byte mark{};
  mesh_.pp().recv_bytes(&mark, 1, mesh_.stage() + 1, kTag).wait();
  ++heard_;
}

}  // namespace skein
