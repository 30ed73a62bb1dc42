// Care for the HDF5 C library: one thread at a time, its own error printing off, ids closed by
// scope.
#pragma once

#include <hdf5.h>
#include <mutex>
#include <string>
#include <utility>

namespace skein::data {

// The library is not thread-safe: every call into it, by any part of the process, is made while
// holding one. Silences the library's printing; failures are told by hdf5_reason(). A thread may
// hold several.
class Hdf5Lock {
 public:
  Hdf5Lock();

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

// An id of the library and the function that closes it.
class Hdf5Id {
 public:
  Hdf5Id(hid_t id, herr_t (*closer)(hid_t)) : id_(id), closer_(closer) {}
  ~Hdf5Id() { close(); }
  Hdf5Id(Hdf5Id&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), closer_(other.closer_) {}
  Hdf5Id& operator=(Hdf5Id&&) = delete;

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }
  // False when the library could not close it, for example because a disk is full.
  bool close() { return !valid() || closer_(std::exchange(id_, H5I_INVALID_HID)) >= 0; }

 private:
  hid_t id_;
  herr_t (*closer_)(hid_t);
};

// What the library says of the call that just failed; ask before calling it again.
std::string hdf5_reason();

}  // namespace skein::data
