// Files that carry a sum of what they hold.
#pragma once

#include <functional>

namespace skein::data {

class SummedFile {
 public:
  virtual ~SummedFile() = default;
  // Reads all that is summed from the file again and compares it with the sum that the file
  // carries. Error(failure) naming path and both sums when they differ; nothing where it carries
  // none. From any thread. go_on is asked after each piece of a few MiB, where it is given; once it
  // says false the rest is left alone.
  virtual void verify_sum(const std::function<bool()>& go_on = {}) const = 0;
};

}  // namespace skein::data
