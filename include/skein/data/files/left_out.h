// Records that cannot be used, as the log tells of them: the first ten with their reasons, the
// others as a number.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace skein::data {

// For the record that makes them `count`; says nothing after the tenth.
void tell_left_out(int64_t count, const std::string& reason);
// For the end, when they were `count`: one line if they were more than ten.
void tell_more_left_out(int64_t count);

// Calls `use`, which uses a record. Its usage error says that the record cannot be used: it is left
// out, which `left_out` counts and the log tells, or, once they are more than `most`, the error is
// thrown. Returns that error's text; "" for a record that is used.
std::string use_or_leave_out(int64_t most, int64_t& left_out, const std::function<void()>& use);

}  // namespace skein::data
