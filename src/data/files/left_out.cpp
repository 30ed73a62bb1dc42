#include "skein/data/files/left_out.h"

#include "skein/core/log.h"

namespace skein {
namespace {

constexpr int64_t kMostTold = 10;

}  // namespace

void tell_left_out(int64_t count, const std::string& reason) {
  if (count <= kMostTold) log::warn("left out: {}", reason);
}

void tell_more_left_out(int64_t count) {
  if (count > kMostTold)
    log::warn("left out: {} more records, {} in all", count - kMostTold, count);
}

}  // namespace skein
