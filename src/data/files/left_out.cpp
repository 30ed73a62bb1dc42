#include "skein/data/files/left_out.h"

#include "skein/core/error.h"
#include "skein/core/log.h"

namespace skein::data {
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

std::string use_or_leave_out(int64_t most, int64_t& left_out, const std::function<void()>& use) {
  try {
    use();
    return "";
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    require(++left_out <= most, "{}; data.bad_records=N leaves out up to N such records",
            error.what());
    tell_left_out(left_out, error.what());
    return error.what();
  }
}

}  // namespace skein::data
