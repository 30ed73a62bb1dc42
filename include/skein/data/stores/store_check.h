// Compares stores with the sums they carry, beside what else a process does: on a thread of
// the lowest priority, in pieces between which it rests in its first minute as long as each took,
// so that neither the processors nor the disk are taken from those who begin to train.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "skein/data/files/summed_file.h"

namespace skein::data {

class StoreCheck {
 public:
  // Begins to read `stores`, one after the other. Those without a sum are passed over.
  explicit StoreCheck(std::vector<std::shared_ptr<const SummedFile>> stores);
  // Leaves off where it is.
  ~StoreCheck();

  // Throws what is wrong with a store, as SummedFile::verify_sum does, if that is known by now.
  void look() const;
  // Whether it has ended, after waiting up to `most`. From the first wait on it rests no more.
  bool wait(std::chrono::milliseconds most);
  // Waits for its end, then as look().
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace skein::data
