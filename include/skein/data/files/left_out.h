// Records that cannot be used, as the log tells of them: the first ten with their reasons, the
// others as a number.
#pragma once

#include <cstdint>
#include <string>

namespace skein {

// For the record that makes them `count`; says nothing after the tenth.
void tell_left_out(int64_t count, const std::string& reason);
// For the end, when they were `count`: one line if they were more than ten.
void tell_more_left_out(int64_t count);

}  // namespace skein
