#include "skein/core/where.h"

#include <fmt/format.h>
#include <utility>

namespace skein {
namespace {

thread_local Where now_here;

}  // namespace

const Where& where() { return now_here; }

std::string Where::str() const {
  std::string text = *phase ? phase : "outside of steps";
  if (step >= 0) text = fmt::format("step {}", step);
  if (micro_batch >= 0) text += fmt::format(", micro-batch {}", micro_batch);
  if (*part) text += fmt::format(", {}", part);
  return text;
}

WhereScope::WhereScope(const Where& now) : before_(std::exchange(now_here, now)) {}
WhereScope::~WhereScope() { now_here = before_; }

}  // namespace skein
